// SPDX-License-Identifier: Apache-2.0
// Programs of thousands of nodes: an answer as quickly as for small ones, by work that is bounded
// in plans and search nodes; never worse than stock TensorFlow and within the budget.
#include "catch2_any.h"
#include "optimize/optimize.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

SmallPipeline chain_of_maps(int maps, double work_ms, bool parallel) {
  SmallPipeline p;
  NodeId top = p.source("TFRecordDataset", {.work_ms = 0.1});
  for (int i = 0; i < maps; ++i) {
    const NodeNumbers numbers{.work_ms = work_ms * (1 + 0.3 * (i * 7919 % 13)), .calls = 1};
    top = parallel ? p.parallel_map(top, "_f", 1 + i % 3, numbers)
                   : p.random(p.map(top, "_f", numbers));
    if (i % 3 == 0) p.may_cache(top);
  }
  p.finish(p.batch(top, 16));
  return p;
}

TEST_CASE("chains of three thousand maps") {
  for (const bool parallel : {false, true}) {
    for (const double work_ms : {0.01, 1.0}) {
      CAPTURE(parallel, work_ms);
      const SmallPipeline p = chain_of_maps(3000, work_ms, parallel);
      OptimizeOptions options;
      options.limits.cores = 16;
      options.limits.memory_bytes = 1e9;
      const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
      CHECK(result.status == PlanStatus::kOptimal);
      CHECK(result.predicted.speedup > 2);
      CHECK(result.memory.planned_bytes <= 1e9);
    }
  }
}

TEST_CASE("a target that three thousand maps miss: few budgets are tried, which is said") {
  const SmallPipeline p = chain_of_maps(3000, 1, true);
  OptimizeOptions options;
  options.limits.cores = 16;
  options.limits.memory_bytes = 1e9;
  const double reached_per_s = optimize(p.pipeline, p.analysis, options).predicted.after_per_s;
  options.target_rate_per_s = 20 * reached_per_s;
  const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
  CHECK(result.status == PlanStatus::kInfeasible);
  REQUIRE(!result.warnings.empty());
  const std::string& said = result.warnings.back();
  INFO(said);
  CHECK(said.find("would do") != std::string::npos);
  CHECK(said.find("less may do too") != std::string::npos);
}

}  // namespace
}  // namespace plumber
