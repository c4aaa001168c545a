// SPDX-License-Identifier: Apache-2.0
#include "optimize/shrink.h"

#include "catch2_any.h"
#include "optimize/optimize.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

// 40 kB of prefetch, 8 + 8 calls of 1000 and 10,000 bytes.
SmallPipeline two_maps() {
  SmallPipeline p;
  NodeId top = p.source("TFRecordDataset", {.work_ms = 0.1});
  top = p.parallel_map(top, "small", 8, {.work_ms = 8, .calls = 1, .bytes = 1000});
  top = p.parallel_map(top, "large", 8, {.work_ms = 4, .calls = 1, .bytes = 10'000});
  p.finish(p.prefetch(top, 4, {.bytes = 10'000}));
  p.pipeline.machine.cores = 8;
  return p;
}

std::string changes(const SmallPipeline& p, double budget_bytes) {
  OptimizeOptions options;
  options.limits.cores = 8;
  options.limits.memory_bytes = budget_bytes;
  const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
  if (result.status == PlanStatus::kInfeasible) return "impossible";
  std::string text;
  for (const Edit& edit : result.plan.edits) {
    text += edit.node + " " + std::to_string(std::get<std::int64_t>(edit.value)) + "\n";
  }
  return text;
}

TEST_CASE("prefetches shrink first, as far as is needed") {
  CHECK(changes(two_maps(), 120e3) == "PrefetchDataset/_3 2\n");
  CHECK(changes(two_maps(), 100e3) == "PrefetchDataset/_3 1\n");
}

TEST_CASE("then calls, those with the largest elements, and no more of them than is needed") {
  CHECK(changes(two_maps(), 70e3) == "ParallelMapDatasetV2/_2 5\nPrefetchDataset/_3 1\n");
}

TEST_CASE("what holds little keeps its calls as long as it fits") {
  CHECK(changes(two_maps(), 30e3) == "ParallelMapDatasetV2/_2 1\nPrefetchDataset/_3 1\n");
  CHECK(changes(two_maps(), 23e3) ==
        "ParallelMapDatasetV2/_1 3\nParallelMapDatasetV2/_2 1\nPrefetchDataset/_3 1\n");
  CHECK(changes(two_maps(), 20e3) == "impossible");
}

TEST_CASE("a thousand maps shrink in no time") {
  SmallPipeline p;
  NodeId top = p.source("TFRecordDataset", {.work_ms = 0.1});
  for (int i = 0; i < 3000; ++i) {
    top = p.parallel_map(top, "_f", 8, {.work_ms = 1.0 + i % 7, .calls = 1, .bytes = 10'000});
  }
  p.pipeline.machine.cores = 8;
  p.finish(top);
  const std::string all = changes(p, 1e9), fewer = changes(p, 1e8);
  CHECK(fewer != "impossible");
  CHECK(fewer != all);
}

}  // namespace
}  // namespace plumber
