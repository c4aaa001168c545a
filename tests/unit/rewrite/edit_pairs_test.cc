// SPDX-License-Identifier: Apache-2.0
// Edits that meet: where the second finds what the first has moved, and what it makes of it.
#include "catch2_any.h"
#include "program_edits.h"
#include "rewrite/edits.h"

namespace plumber {
namespace {

const std::string kFused = R"(stop = 10
range = RangeDataset(stop) : int64
cycle = 2
inter = InterleaveDataset(range, cycle, cycle) Targuments=[] f=@read : int64
offset = 5
size = 4
calls = 2
drop = false
fused = MapAndBatchDataset(inter, offset, size, calls, drop) Targuments=[int64] f=@add : int64[?]
root = _Retval(fused)
def read(x: int64) -> d: variant = range:handle:0
  range = RangeDataset(x, x, x) : int64
def add(x: int64, y: int64) -> z: int64 = sum:z:0
  sum = AddV2(x, y)
)";

TEST_CASE("a map that was taken out of a batch and fused again is the batch's own function again") {
  const Edit apart = edit(EditKind::kUnfuse, "fused");
  const Edit fuse = edit(EditKind::kConvert, "fused", 3_calls, "MapAndBatchDataset");
  const std::string again = rewritten(kFused, {apart, fuse});
  CHECK(rewritten(kFused, {apart, fuse, edit(EditKind::kSetParallelism, "fused", 3_calls)}) ==
        again);
  CHECK(rewritten(kFused, {apart, fuse, apart, edit(EditKind::kSequential, "fused")})
            .find("= MapDataset(inter, offset)") != std::string::npos);
  const std::string apart_again =
      rewritten(kFused, {apart, fuse, apart, edit(EditKind::kSequential, "plumber/map/fused")});
  CHECK(apart_again.find("plumber/map/fused = MapDataset(inter, offset)") != std::string::npos);
}

TEST_CASE("a map that was taken out of a batch goes into chunks, and the batch after it") {
  const std::string program = R"(stop = 10
range = RangeDataset(stop) : int64
size = 4
calls = 2
drop = false
fused = MapAndBatchDataset(range, size, calls, drop) Targuments=[] f=@twice : int64[?]
root = _Retval(fused)
def twice(x: int64) -> z: int64 = sum:z:0
  sum = AddV2(x, x)
)";
  const auto chunks_of = [&](const char* map) {
    return rewritten(
        program,
        {edit(EditKind::kUnfuse, "fused"), edit(EditKind::kInsertChunks, "range", 8_calls, "3"),
         edit(EditKind::kMoveIntoFunction, map, {}, "plumber/chunks/range"),
         edit(EditKind::kMoveIntoFunction, "fused", {}, "plumber/chunks/range"),
         edit(EditKind::kInline, map)});
  };
  const std::string made = chunks_of("plumber/map/fused");
  CHECK(made.find("root = _Retval(plumber/chunks/range)") != std::string::npos);
  CHECK(made.find(
            "plumber/map/fused = MapDataset(TensorSliceDataset:handle:0) Targuments=[] f=@twice "
            "force_synchronous=true") != std::string::npos);
  CHECK(made.find("fused = BatchDatasetV2(plumber/map/fused:handle:0, ") != std::string::npos);
  CHECK(chunks_of("fused") == made);
}

TEST_CASE("a map that was taken out of a batch moves into an interleave and the batch stays") {
  CHECK(rewritten(kFused,
                  {edit(EditKind::kUnfuse, "fused"), edit(EditKind::kSequential, "fused"),
                   edit(EditKind::kMoveIntoFunction, "fused", {}, "inter"),
                   edit(EditKind::kInline, "fused"), edit(EditKind::kInsertCache, "fused")}) ==
        R"(stop = 10
range = RangeDataset(stop) : int64
cycle = 2
offset = 5
size = 4
calls = 2
drop = false
inter = InterleaveDataset(range, offset, cycle, cycle) Targuments=[int64] f=@read : int64
fused = BatchDatasetV2(inter, size, drop) : int64[?]
plumber/Const_0 = ""
plumber/DummyMemoryCache_0 = DummyMemoryCache()
plumber/CacheDatasetV2_0 = CacheDatasetV2(fused, plumber/Const_0, plumber/DummyMemoryCache_0) : int64[?]
root = _Retval(plumber/CacheDatasetV2_0)
def read(x: int64, plumber_captured_0: int64) -> d: variant = plumber/map/fused:handle:0
  range = RangeDataset(x, x, x) : int64
  plumber/map/fused = MapDataset(range:handle:0, plumber_captured_0) Targuments=[int64] f=@add force_synchronous=true use_inter_op_parallelism=false : int64
def add(x: int64, y: int64) -> z: int64 = sum:z:0
  sum = AddV2(x, y)
)");
}

TEST_CASE("a list of files is cut once: a second cut would take files of the first one's rest") {
  const std::string program = R"(names = 4
files = TensorSliceDataset(names) : string
flat = FlatMapDataset(files) Targuments=[] f=@read : string
map = MapDataset(flat) Targuments=[] f=@same : string
root = _Retval(map)
def read(x: string) -> d: variant = lines:handle:0
  lines = TextLineDataset(x, x, x) : string
def same(x: string) -> y: string = x
)";
  const auto cut = [](const char* node) {
    return edit(EditKind::kInsertPartialCache, node, 2_calls, "files");
  };
  CHECK(rewritten(program, {cut("map")}).find("SkipDataset(files") != std::string::npos);
  for (const char* second : {"map", "flat"})
    CHECK_THROWS_WITH(rewritten(program, {cut("map"), cut(second)}),
                      Catch::Contains("stands above its list of files"));
}

}  // namespace
}  // namespace plumber
