// SPDX-License-Identifier: Apache-2.0
// Chunks on small programs, and what must not be mixed up with them.
#include "catch2_any.h"
#include "program_edits.h"
#include "rewrite/edits.h"

namespace plumber {
namespace {

TEST_CASE("chunks: a batch, and over it an interleave that a map moves into") {
  Edit chunks = edit(EditKind::kInsertChunks, "range", 4_calls, "3");
  const std::string made =
      rewritten(kCaptured, {chunks, edit(EditKind::kSequential, "map"),
                            edit(EditKind::kMoveIntoFunction, "map", {}, "plumber/chunks/range")});
  CHECK(made.find("plumber/chunk/range = BatchDatasetV2(range, ") != std::string::npos);
  CHECK(made.find(
            "plumber/chunks/range = ParallelInterleaveDatasetV4(plumber/chunk/range, offset, ") !=
        std::string::npos);
  CHECK(made.find("map = MapDataset(TensorSliceDataset:handle:0, plumber_captured_0)") !=
        std::string::npos);
}

TEST_CASE("only chunks take a filter in, whatever an interleave and its batch are called") {
  const std::string program = R"(four = 4
range = RangeDataset(four) : int64
b = BatchDatasetV2(range, four, four) : int64[?]
inter = ParallelInterleaveDatasetV4(b, four, four, four, four, four) Targuments=[] deterministic="true" f=@read : int64
filter = FilterDataset(inter) Targuments=[] predicate=@even : int64
root = _Retval(filter)
def read(x: int64) -> d: variant = slices:handle:0
  slices = TensorSliceDataset(x) : int64
def even(x: int64) -> y: bool = c:y:0
  c = Cast(x)
)";
  CHECK_THROWS_WITH(rewritten(program, {edit(EditKind::kMoveIntoFunction, "filter", {}, "inter")}),
                    Catch::Contains("FilterDataset is no 1:1 map"));
}

TEST_CASE("two caches do not write one file") {
  CHECK_THROWS_WITH(rewritten(kCaptured, {edit(EditKind::kInsertCache, "map", {}, "/ssd/a"),
                                          edit(EditKind::kInsertCache, "batch", {}, "/ssd/a")}),
                    Catch::Contains("another cache writes the file '/ssd/a' already"));
}

}  // namespace
}  // namespace plumber
