// SPDX-License-Identifier: Apache-2.0
#include "optimize/python_line.h"

#include "catch2_any.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

TEST_CASE("edits as lines of Python") {
  SmallPipeline p;
  const NodeId files = p.source("TensorSliceDataset", {});
  const NodeId read = p.with_function(p.add("InterleaveDataset", {files}, {}), "_read");
  p.pipeline[read].cycle_length = 4;
  p.pipeline[read].block_length = 2;
  const NodeId map = p.map(read, "_decode", {});
  const NodeId padded = p.add("PaddedBatchDatasetV2", {map}, {});
  p.pipeline[padded].count = 32;
  const NodeId prefetch = p.prefetch(padded, 1);
  p.finish(prefetch);
  const auto line = [&](EditKind kind, const std::string& node, EditValue value = {},
                        const std::string& to = "") {
    return python_line(p.pipeline, {"", kind, node, to, value, "", {}, ""});
  };
  const std::int64_t two = 2;
  CHECK(line(EditKind::kConvert, "InterleaveDataset/_1", two) ==
        ".interleave(_read, cycle_length=4, block_length=2, num_parallel_calls=2)");
  CHECK(line(EditKind::kSetParallelism, "MapDataset/_2", two) ==
        ".map(_decode, num_parallel_calls=2)");
  CHECK(line(EditKind::kSequential, "MapDataset/_2") == ".map(_decode)");
  CHECK(line(EditKind::kInsertCache, "MapDataset/_2") == ".cache()  # after .map(_decode)");
  CHECK(line(EditKind::kInsertCache, "PaddedBatchDatasetV2/_3", {}, "/data/c") ==
        ".cache(\"/data/c\")  # after .padded_batch(32)");
  CHECK(line(EditKind::kInsertPrefetch, "PrefetchDataset/_4", two) == ".prefetch(2)  # at the end");
  CHECK(line(EditKind::kSetBuffer, "PrefetchDataset/_4", two) == ".prefetch(2)");
  CHECK(line(EditKind::kSetOptions, "", false, "deterministic") == "options.deterministic = False");
  CHECK(line(EditKind::kSetOptions, "", {}, "autotune.enabled") == "");
  CHECK(line(EditKind::kSetParallelism, "no such node", two) == "");
}

}  // namespace
}  // namespace plumber
