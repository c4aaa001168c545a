// SPDX-License-Identifier: Apache-2.0
// Laws that every plan obeys, on random small pipelines: never worse than stock TensorFlow, within
// the budget, the same every time; more cores or memory never promise less.
#include <algorithm>

#include "catch2_any.h"
#include "optimize/optimize.h"
#include "optimize/search.h"
#include "random_pipelines.h"

namespace plumber {
namespace {

OptimizeOptions within(double cores, double memory_bytes) {
  OptimizeOptions options;
  options.limits.cores = cores;
  options.limits.memory_bytes = memory_bytes;
  return options;
}

std::string fingerprint(const OptimizeResult& result) {
  std::string text = result.lp.program + std::to_string(result.predicted.after_per_s);
  for (const Edit& edit : result.plan.edits)
    text += edit.id + edit.node + edit.reason + edit.python;
  for (const Rejected& rejected : result.rejected) text += rejected.node + rejected.reason;
  for (const MemoryItem& item : result.memory.items) text += item.node + std::to_string(item.bytes);
  return text;
}

TEST_CASE(
    "a plan is never worse than stock TensorFlow, fits the budget, and is the same every time") {
  RandomPipelines random(23);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const SmallPipeline p = random.next();
    const OptimizeOptions options =
        within(std::floor(1 + 15 * random.uniform()), 1e9 * random.uniform());
    const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
    CHECK(result.predicted.after_per_s >= result.predicted.before_per_s * (1 - 1e-9));
    const bool changed = result.status == PlanStatus::kOptimal;
    if (changed) CHECK(result.memory.planned_bytes <= options.limits.memory_bytes);
    if (!changed) CHECK(result.plan.edits.empty());
    CHECK(fingerprint(result) == fingerprint(optimize(p.pipeline, p.analysis, options)));
  }
}

// What is kept for fewer edits is within the tolerance of the optimum, so the law holds up to it.
TEST_CASE("more cores or more memory never promise less") {
  RandomPipelines random(29);
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    const SmallPipeline p = random.next();
    const double cores = std::floor(1 + 7 * random.uniform());
    const double memory_bytes = 1e8 * random.uniform() + 1e7;
    const auto rate = [&](double c, double m) {
      return optimize(p.pipeline, p.analysis, within(c, m)).predicted.after_per_s;
    };
    const double base = rate(cores, memory_bytes);
    CHECK(rate(cores + 1, memory_bytes) >= base / (1 + 2 * kTolerance));
    CHECK(rate(cores, 10 * memory_bytes) >= base / (1 + 2 * kTolerance));
  }
}

TEST_CASE("a target rate is reached with the fewest cores, or said to be out of reach") {
  RandomPipelines random(31);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const SmallPipeline p = random.next();
    OptimizeOptions options = within(8, 1e9);
    const double most = optimize(p.pipeline, p.analysis, options).predicted.after_per_s;
    options.target_rate_per_s = most * 0.6;
    const OptimizeResult reached = optimize(p.pipeline, p.analysis, options);
    CHECK(reached.status != PlanStatus::kInfeasible);
    CHECK(reached.predicted.after_per_s >= most * 0.6 * (1 - 1e-6));
    if (reached.limits.cores > 1) {
      const OptimizeOptions fewer = within(reached.limits.cores - 1, 1e9);
      CHECK(optimize(p.pipeline, p.analysis, fewer).predicted.after_per_s < most * 0.6);
    }
    options.target_rate_per_s = most * 1.5;
    const OptimizeResult infeasible = optimize(p.pipeline, p.analysis, options);
    CHECK(infeasible.status == PlanStatus::kInfeasible);
    CHECK(infeasible.plan.edits.empty());
  }
}

}  // namespace
}  // namespace plumber
