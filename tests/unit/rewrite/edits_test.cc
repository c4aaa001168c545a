// SPDX-License-Identifier: Apache-2.0
// Each edit on a small program: the whole program before and after.
#include "rewrite/edits.h"

#include "catch2_any.h"
#include "program_edits.h"

namespace plumber {
namespace {

std::string with(std::string text, const std::string& old_part, const std::string& new_part) {
  const std::size_t at = text.find(old_part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old_part.size(), new_part);
}

TEST_CASE("a program survives without edits as it is") {
  CHECK(rewritten(kCaptured, {}) == kCaptured);
}

TEST_CASE("set_parallelism copies a constant that others read") {
  CHECK(rewritten(kCaptured, {edit(EditKind::kSetParallelism, "map", 4_calls)}) ==
        with(kCaptured, "map = ParallelMapDatasetV2(range, offset, calls, ^table)",
             "plumber/Const_0 = 4\n"
             "map = ParallelMapDatasetV2(range, offset, plumber/Const_0, ^table)"));
}

TEST_CASE("set_parallelism changes a constant of the node's own in its place") {
  const std::string own = with(kCaptured, "batch = BatchDatasetV2(map, calls, calls) : int64[?]\n",
                               "batch = TakeDataset(map, stop) : int64\n");
  CHECK(rewritten(own, {edit(EditKind::kSetParallelism, "map", 4_calls)}) ==
        with(own, "calls = 1", "calls = 4"));
}

TEST_CASE("a map becomes sequential and parallel again") {
  const std::string sequential =
      with(kCaptured,
           "map = ParallelMapDatasetV2(range, offset, calls, ^table) Targuments=[int64] "
           "deterministic=\"default\" f=@add",
           "map = MapDataset(range, offset, ^table) Targuments=[int64] f=@add "
           "force_synchronous=true");
  CHECK(rewritten(kCaptured, {edit(EditKind::kSequential, "map")}) == sequential);
  CHECK(rewritten(sequential, {edit(EditKind::kConvert, "map", 3_calls, "ParallelMapDatasetV2")}) ==
        with(sequential,
             "map = MapDataset(range, offset, ^table) Targuments=[int64] f=@add "
             "force_synchronous=true",
             "plumber/Const_0 = 3\n"
             "map = ParallelMapDatasetV2(range, offset, plumber/Const_0, ^table) "
             "Targuments=[int64] deterministic=\"true\" f=@add"));
}

TEST_CASE("inline and parallel inline") {
  const std::string before =
      "map = ParallelMapDatasetV2(range, offset, calls, ^table) Targuments=[int64] "
      "deterministic=\"default\" f=@add";
  CHECK(rewritten(kCaptured, {edit(EditKind::kInline, "map")}) ==
        with(kCaptured, before,
             "map = MapDataset(range, offset, ^table) Targuments=[int64] f=@add "
             "force_synchronous=true use_inter_op_parallelism=false"));
  CHECK(rewritten(kCaptured, {edit(EditKind::kParallelInline, "map", 2_calls)}) ==
        with(kCaptured, before,
             "plumber/Const_0 = 2\n"
             "map = ParallelMapDatasetV2(range, offset, plumber/Const_0, ^table) "
             "Targuments=[int64] deterministic=\"default\" f=@add "
             "use_inter_op_parallelism=false"));
}

TEST_CASE("calls on threads of their own") {
  const std::string program = with(kCaptured, "deterministic=\"default\"",
                                   "deterministic=\"default\" use_inter_op_parallelism=false");
  const Edit own = edit(EditKind::kParallelUnbounded, "map", 16_calls);
  const std::string unbounded = rewritten(program, {own});
  CHECK(unbounded.find("use_inter_op_parallelism=true") != std::string::npos);
  CHECK(unbounded.find("use_unbounded_threadpool=true") != std::string::npos);
  const Edit one_thread = edit(EditKind::kParallelInline, "map", 2_calls);
  CHECK(rewritten(program, {own, one_thread}).find("unbounded") == std::string::npos);
}

TEST_CASE("an interleave keeps cycle and block length, a batch its place for drop_remainder") {
  const std::string program = R"(stop = 10
range = RangeDataset(stop) : int64
cycle = 4
block = 2
inter = InterleaveDataset(range, cycle, block) Targuments=[] f=@read : int64
drop = true
batch = BatchDatasetV2(inter, stop, drop) : int64[10]
root = _Retval(batch)
def read(x: int64) -> d: variant = range:handle:0
  range = RangeDataset(x) : int64
)";
  CHECK(
      rewritten(program, {edit(EditKind::kConvert, "inter", 4_calls, "ParallelInterleaveDatasetV4"),
                          edit(EditKind::kConvert, "batch", 2_calls, "ParallelBatchDataset")}) ==
      R"(stop = 10
range = RangeDataset(stop) : int64
cycle = 4
block = 2
plumber/Const_0 = -1
plumber/Const_1 = -1
plumber/Const_2 = 4
inter = ParallelInterleaveDatasetV4(range, cycle, block, plumber/Const_0, plumber/Const_1, plumber/Const_2) Targuments=[] deterministic="true" f=@read : int64
drop = true
plumber/Const_3 = 2
batch = ParallelBatchDataset(inter, stop, plumber/Const_3, drop) deterministic="true" : int64[10]
root = _Retval(batch)
def read(x: int64) -> d: variant = range:handle:0
  range = RangeDataset(x) : int64
)");
}

TEST_CASE("a filter becomes a map, a filter without a call, and a map") {
  const std::string program = R"(stop = 10
range = RangeDataset(stop) : int64
least = 3
filter = FilterDataset(range, least) Targuments=[int64] predicate=@__inference_keep_12 : int64
root = _Retval(filter)
def __inference_keep_12(x: int64, y: int64) -> p: bool = less:z:0
  less = Less(y, x)
)";
  CHECK(rewritten(program, {edit(EditKind::kPassThroughFilter, "filter")}) == R"(stop = 10
range = RangeDataset(stop) : int64
least = 3
plumber/MapDataset_0 = MapDataset(range, least) Targuments=[int64] f=@__inference_keep_keep_0 force_synchronous=true preserve_cardinality=true use_inter_op_parallelism=false : int64, bool
plumber/FilterDataset_0 = FilterDataset(plumber/MapDataset_0) Targuments=[] predicate=@__inference_keep_pass_0 : int64, bool
filter = MapDataset(plumber/FilterDataset_0) Targuments=[] f=@__inference_keep_drop_0 force_synchronous=true use_inter_op_parallelism=false : int64
root = _Retval(filter)
def __inference_keep_12(x: int64, y: int64) -> p: bool = less:z:0
  less = Less(y, x)
def __inference_keep_keep_0(x: int64, y: int64) -> plumber_x0: int64 = x, p: bool = less:z:0
  less = Less(y, x)
def __inference_keep_pass_0(x0: int64, x1: bool) -> y1: bool = x1
def __inference_keep_drop_0(x0: int64, x1: bool) -> y0: int64 = x0
)");
}

TEST_CASE("a fused map and batch is taken apart, later edits go to the map") {
  const std::string program = R"(stop = 10
range = RangeDataset(stop) : int64
offset = 5
size = 4
calls = 2
drop = false
fused = MapAndBatchDataset(range, offset, size, calls, drop) Targuments=[int64] f=@add preserve_cardinality=true : int64[?], string[?,3]
root = _Retval(fused)
def add(x: int64, y: int64) -> z: int64 = sum:z:0
  sum = AddV2(x, y)
)";
  CHECK(rewritten(program, {edit(EditKind::kUnfuse, "fused"),
                            edit(EditKind::kSetParallelism, "fused", 3_calls)}) ==
        with(with(program, "calls = 2", "calls = 3"),
             "fused = MapAndBatchDataset(range, offset, size, calls, drop) Targuments=[int64] "
             "f=@add preserve_cardinality=true",
             "plumber/map/fused = ParallelMapDatasetV2(range, offset, calls) "
             "Targuments=[int64] deterministic=\"true\" f=@add preserve_cardinality=true : int64, "
             "string[3]\n"
             "fused = BatchDatasetV2(plumber/map/fused, size, drop)"));
  const Edit apart = edit(EditKind::kUnfuse, "fused");
  for (const EditKind kind : {EditKind::kSequential, EditKind::kInline})
    CHECK(rewritten(program, {apart, edit(kind, "plumber/map/fused")}) ==
          rewritten(program, {apart, edit(kind, "fused")}));
  CHECK_THROWS_WITH(rewritten(program, {edit(EditKind::kInline, "plumber/map/fused")}),
                    Catch::Contains("no such node"));
}

TEST_CASE("insertions above one node stack in the order of the plan") {
  CHECK(rewritten(kCaptured, {edit(EditKind::kInsertCache, "map"),
                              edit(EditKind::kInsertPrefetch, "map", 8_calls)}) ==
        with(kCaptured, "batch = BatchDatasetV2(map,", R"(plumber/Const_0 = ""
plumber/DummyMemoryCache_0 = DummyMemoryCache()
plumber/CacheDatasetV2_0 = CacheDatasetV2(map, plumber/Const_0, plumber/DummyMemoryCache_0) : int64
plumber/Const_1 = 8
plumber/PrefetchDataset_0 = PrefetchDataset(plumber/CacheDatasetV2_0, plumber/Const_1) : int64
batch = BatchDatasetV2(plumber/PrefetchDataset_0,)"));
}

TEST_CASE("every reader of a node reads what was inserted above it") {
  const std::string program = R"(stop = 10
range = RangeDataset(stop) : int64
zip = ZipDataset(range, range) N=2 : int64, int64
root = _Retval(zip)
)";
  CHECK(rewritten(program, {edit(EditKind::kInsertCache, "range", {}, "cached.bin")}) ==
        with(program, "zip = ZipDataset(range, range)", R"(plumber/Const_0 = "cached.bin"
plumber/DummyMemoryCache_0 = DummyMemoryCache()
plumber/CacheDatasetV2_0 = CacheDatasetV2(range, plumber/Const_0, plumber/DummyMemoryCache_0) : int64
zip = ZipDataset(plumber/CacheDatasetV2_0, plumber/CacheDatasetV2_0))"));
}

const std::string kCaches = R"(stop = 10
range = RangeDataset(stop) : int64
memory = ""
handle = resource "MemoryCache_0"
one = CacheDatasetV2(range, memory, handle) : int64
file = "cached.bin"
two = CacheDatasetV2(one, file, handle) : int64
inter = FlatMapDataset(two) Targuments=[] f=@read : int64
root = _Retval(inter)
def read(x: int64) -> d: variant = cache:handle:0
  range = RangeDataset(x) : int64
  memory = ""
  home = AnonymousMemoryCache()
  cache = CacheDatasetV2(range:handle:0, memory:output:0, home:handle:0) : int64
)";

TEST_CASE("every memory cache gets a home of its own, caches in files keep theirs") {
  const std::string homes =
      with(with(kCaches, "one = CacheDatasetV2(range, memory, handle)",
                "plumber/DummyMemoryCache_0 = DummyMemoryCache()\n"
                "one = CacheDatasetV2(range, memory, plumber/DummyMemoryCache_0)"),
           "  cache = CacheDatasetV2(range:handle:0, memory:output:0, home:handle:0)",
           "  plumber/DummyMemoryCache_0 = DummyMemoryCache()\n"
           "  cache = CacheDatasetV2(range:handle:0, memory:output:0, "
           "plumber/DummyMemoryCache_0:handle:0)");
  CHECK(rewritten(kCaches, {}) == homes);
  CHECK(rewritten(kCaches, {edit(EditKind::kRehomeCache, "one")}) == homes);
  CHECK(rewritten(homes, {}) == homes);
}

TEST_CASE("a node that passes its input on is removed") {
  const std::string program = R"(stop = 10
range = RangeDataset(stop) : int64
size = 2
pre = PrefetchDataset(range, size) : int64
zip = ZipDataset(pre, range, ^pre) N=2 : int64, int64
root = _Retval(zip)
)";
  CHECK(rewritten(program, {edit(EditKind::kRemove, "pre")}) == R"(stop = 10
range = RangeDataset(stop) : int64
size = 2
zip = ZipDataset(range, range, ^range) N=2 : int64, int64
root = _Retval(zip)
)");
}

TEST_CASE("a map goes above the take over it") {
  const std::string program = R"(stop = 10
range = RangeDataset(stop) : int64
offset = 5
map = MapDataset(range, offset) Targuments=[int64] f=@text : string
count = 3
take = TakeDataset(map, count) : string
batch = BatchDatasetV2(take, count, count) : string[?]
root = _Retval(batch)
def text(x: int64, y: int64) -> z: string = s:output:0
  s = AsString(x)
)";
  const std::string after = with(
      with(program, "map = MapDataset(range, offset) Targuments=[int64] f=@text : string\n", ""),
      "take = TakeDataset(map, count) : string\nbatch = BatchDatasetV2(take,",
      "take = TakeDataset(range, count) : int64\n"
      "map = MapDataset(take, offset) Targuments=[int64] f=@text : string\n"
      "batch = BatchDatasetV2(map,");
  CHECK(rewritten(program, {edit(EditKind::kReorder, "map", {}, "take")}) == after);
  CHECK(rewritten(program, {edit(EditKind::kReorder, "take", {}, "map")}) == after);
}

TEST_CASE("a map goes below what all elements pass, and no others") {
  const auto program = [](const std::string& op) {
    return R"(offset = 5
count = 3
range = RangeDataset(count, count, count) : int64
below = )" +
           op +
           R"((range, count) : int64
map = MapDataset(below, offset) Targuments=[int64] f=@text : string
root = _Retval(map)
def text(x: int64, y: int64) -> z: string = s:output:0
  s = AsString(x)
)";
  };
  const std::string after = R"(offset = 5
count = 3
range = RangeDataset(count, count, count) : int64
map = MapDataset(range, offset) Targuments=[int64] f=@text : string
below = PrefetchDataset(map, count) : string
root = _Retval(below)
def text(x: int64, y: int64) -> z: string = s:output:0
  s = AsString(x)
)";
  const Edit lower = edit(EditKind::kReorder, "map", {}, "below");
  CHECK(rewritten(program("PrefetchDataset"), {lower}) == after);
  CHECK_THROWS_WITH(rewritten(program("TakeDataset"), {lower}),
                    "MapDataset above TakeDataset cannot be swapped");
}

TEST_CASE("a map moves into the interleave below it and takes its captures along") {
  const std::string program = R"(stop = 10
range = RangeDataset(stop) : int64
first = 1
cycle = 4
inter = InterleaveDataset(range, first, cycle, cycle) Targuments=[int64] f=@read_7 : int64
other = InterleaveDataset(range, first, cycle, cycle) Targuments=[int64] f=@read_7 : int64
offset = 5
calls = 2
map = ParallelMapDatasetV2(inter, offset, calls) Targuments=[int64] deterministic="true" f=@text : string
zip = ZipDataset(map, other) N=2 : string, int64
root = _Retval(zip)
def read_7(x: int64, y: int64) -> d: variant = same:output:0
  range = RangeDataset(y, x) : int64
  same = Identity(range:handle:0)
def text(x: int64, y: int64) -> z: string = s:output:0
  s = AsString(x)
)";
  CHECK(rewritten(program, {edit(EditKind::kMoveIntoFunction, "map", {}, "inter"),
                            edit(EditKind::kInline, "map"),
                            edit(EditKind::kInsertPrefetch, "inter", 2_calls)}) ==
        R"(stop = 10
range = RangeDataset(stop) : int64
first = 1
cycle = 4
other = InterleaveDataset(range, first, cycle, cycle) Targuments=[int64] f=@read_7 : int64
offset = 5
calls = 2
inter = InterleaveDataset(range, first, offset, cycle, cycle) Targuments=[int64, int64] f=@read_0 : string
plumber/Const_0 = 2
plumber/PrefetchDataset_0 = PrefetchDataset(inter, plumber/Const_0) : string
zip = ZipDataset(plumber/PrefetchDataset_0, other) N=2 : string, int64
root = _Retval(zip)
def read_7(x: int64, y: int64) -> d: variant = same:output:0
  range = RangeDataset(y, x) : int64
  same = Identity(range:handle:0)
def text(x: int64, y: int64) -> z: string = s:output:0
  s = AsString(x)
def read_0(x: int64, y: int64, plumber_captured_0: int64) -> d: variant = map:handle:0
  range = RangeDataset(y, x) : int64
  same = Identity(range:handle:0)
  plumber/Const_0 = 2
  map = MapDataset(same:output:0, plumber_captured_0) Targuments=[int64] f=@text force_synchronous=true use_inter_op_parallelism=false : string
)");
}

TEST_CASE("options are made, merged, and dropped when nothing is set any more") {
  const std::string program =
      "stop = 10\nrange = RangeDataset(stop) : int64\nroot = _Retval(range)\n";
  const std::vector<Edit> set = {
      edit(EditKind::kSetOptions, "", false, "experimental_optimization.map_parallelization"),
      edit(EditKind::kSetOptions, "", 3_calls, "threading.private_threadpool_size")};
  const std::string made = with(
      program, "root = _Retval(range)",
      "plumber/OptionsDataset_0 = OptionsDataset(range) options=<optimization_options { "
      "map_parallelization: false } threading_options { private_threadpool_size: 3 }> : int64\n"
      "root = _Retval(plumber/OptionsDataset_0)");
  CHECK(rewritten(program, set) == made);
  CHECK(rewritten(made, {edit(EditKind::kSetOptions, "", true, "deterministic"),
                         edit(EditKind::kSetOptions, "", {}, "threading.private_threadpool_size"),
                         edit(EditKind::kInsertPrefetch, "plumber/OptionsDataset_0", 2_calls)}) ==
        R"(stop = 10
range = RangeDataset(stop) : int64
plumber/Const_0 = 2
plumber/PrefetchDataset_0 = PrefetchDataset(range, plumber/Const_0) : int64
plumber/OptionsDataset_0 = OptionsDataset(plumber/PrefetchDataset_0) options=<deterministic: true optimization_options { map_parallelization: false } threading_options { }> : int64
root = _Retval(plumber/OptionsDataset_0)
)");
  CHECK(rewritten(made, {edit(EditKind::kSetOptions, "", {},
                              "experimental_optimization.map_parallelization"),
                         edit(EditKind::kSetOptions, "", {}, "threading.private_threadpool_size"),
                         edit(EditKind::kSetOptions, "", {}, "autotune.enabled")}) == program);
}

TEST_CASE("nodes inside functions have addresses; a shared function is forked before it changes") {
  const std::string program = R"(stop = 10
range = RangeDataset(stop) : int64
one = FlatMapDataset(range) Targuments=[] f=@read : int64
two = FlatMapDataset(one) Targuments=[] f=@read : int64
root = _Retval(two)
def read(x: int64) -> d: variant = inner:handle:0
  range = RangeDataset(x) : int64
  inner = FlatMapDataset(range:handle:0) Targuments=[] f=@file : string
def file(x: int64) -> d: variant = lines:handle:0
  lines = TextLineDataset(x)
)";
  CHECK(rewritten(program, {edit(EditKind::kInsertPrefetch, "one>inner>lines", 2_calls),
                            edit(EditKind::kInsertPrefetch, "two>inner", 4_calls)}) ==
        R"(stop = 10
range = RangeDataset(stop) : int64
one = FlatMapDataset(range) Targuments=[] f=@read_0 : int64
two = FlatMapDataset(one) Targuments=[] f=@read : int64
root = _Retval(two)
def read(x: int64) -> d: variant = plumber/PrefetchDataset_0:handle:0
  range = RangeDataset(x) : int64
  inner = FlatMapDataset(range:handle:0) Targuments=[] f=@file : string
  plumber/Const_0 = 4
  plumber/PrefetchDataset_0 = PrefetchDataset(inner:handle:0, plumber/Const_0:output:0) : string
def file(x: int64) -> d: variant = lines:handle:0
  lines = TextLineDataset(x)
def read_0(x: int64) -> d: variant = inner:handle:0
  range = RangeDataset(x) : int64
  inner = FlatMapDataset(range:handle:0) Targuments=[] f=@file_0 : string
def file_0(x: int64) -> d: variant = plumber/PrefetchDataset_0:handle:0
  lines = TextLineDataset(x)
  plumber/Const_0 = 2
  plumber/PrefetchDataset_0 = PrefetchDataset(lines:handle:0, plumber/Const_0:output:0) : string
)");
}

}  // namespace
}  // namespace plumber
