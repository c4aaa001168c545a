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
    if (result.memory.stock_bytes <= options.limits.memory_bytes)
      CHECK(result.predicted.after_per_s >= result.predicted.before_per_s * (1 - 1e-9));
    CHECK((result.status == PlanStatus::kInfeasible) ==
          (result.memory.planned_bytes > options.limits.memory_bytes));
    if (result.status != PlanStatus::kOptimal) CHECK(result.plan.edits.empty());
    CHECK(fingerprint(result) == fingerprint(optimize(p.pipeline, p.analysis, options)));
  }
}

// From a budget into which nothing fits to one with room to spare.
TEST_CASE("a program over its budget shrinks into it, or it is said that it cannot") {
  RandomPipelines random(37);
  int shrunk = 0, impossible = 0;
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const SmallPipeline p = random.next();
    const double cores = std::floor(1 + 15 * random.uniform());
    const double held = optimize(p.pipeline, p.analysis, within(cores, 1e12)).memory.stock_bytes;
    const double budget = held * (0.1 + 1.2 * random.uniform());
    const OptimizeResult result = optimize(p.pipeline, p.analysis, within(cores, budget));
    CHECK(result.memory.stock_bytes == Approx(held));
    if (result.status == PlanStatus::kInfeasible) {
      ++impossible;
      CHECK(result.memory.planned_bytes > budget);
      CHECK(result.plan.edits.empty());
      const double least = result.memory.planned_bytes;
      CHECK(optimize(p.pipeline, p.analysis, within(cores, least * (1 + 1e-9))).status !=
            PlanStatus::kInfeasible);
      continue;
    }
    CHECK(result.memory.planned_bytes <= budget);
    if (held <= budget) continue;
    ++shrunk;
    CHECK(result.status == PlanStatus::kOptimal);
    for (const Edit& edit : result.plan.edits) CHECK(edit.kind != EditKind::kInsertCache);
  }
  CHECK(shrunk > 10);
  CHECK(impossible > 10);
}

// With the memory that is said to bring more, it does; and the gain is what was said, or more.
TEST_CASE("the next step of memory brings what is promised") {
  RandomPipelines random(41);
  int steps = 0;
  for (int round = 0; round < 80; ++round) {
    CAPTURE(round);
    const SmallPipeline p = random.next();
    const double cores = std::floor(1 + 15 * random.uniform());
    const double budget = 3e6 * random.uniform();
    const OptimizeResult result = optimize(p.pipeline, p.analysis, within(cores, budget));
    if (!result.more.next_memory) continue;
    ++steps;
    const auto [bytes, gain_per_s] = *result.more.next_memory;
    const OptimizeResult richer = optimize(p.pipeline, p.analysis, within(cores, budget + bytes));
    CHECK(richer.predicted.after_per_s >=
          (result.predicted.after_per_s + gain_per_s) / (1 + 2 * kTolerance));
  }
  CHECK(steps > 8);
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
    const double base = rate(cores, memory_bytes);  // its memory holds the program
    CHECK(rate(cores + 1, memory_bytes) >= base / (1 + 2 * kTolerance));
    CHECK(rate(cores, 10 * memory_bytes) >= base / (1 + 2 * kTolerance));
  }
}

TEST_CASE("a target rate is reached with the fewest cores, or said to be out of reach") {
  RandomPipelines random(31);
  int unchanged = 0;
  for (int round = 0; round < 120; ++round) {
    CAPTURE(round);
    const SmallPipeline p = random.next();
    OptimizeOptions options = within(8, 1e9);
    const double most = optimize(p.pipeline, p.analysis, options).predicted.after_per_s;
    const double target = most * (0.05 + 0.9 * random.uniform());
    options.target_rate_per_s = target;
    const OptimizeResult reached = optimize(p.pipeline, p.analysis, options);
    CHECK(reached.status != PlanStatus::kInfeasible);
    CHECK(reached.predicted.after_per_s >= target * (1 - 1e-6));
    CHECK(reached.predicted.speedup >= 1 - 1e-9);
    const bool stock_does = reached.predicted.before_per_s >= target;
    CHECK((reached.status == PlanStatus::kNoChange) == stock_does);
    if (stock_does) CHECK(reached.more.unchanged_cores == reached.limits.cores);
    unchanged += stock_does ? 1 : 0;
    if (reached.limits.cores > 1) {
      const OptimizeOptions fewer = within(reached.limits.cores - 1, 1e9);
      CHECK(optimize(p.pipeline, p.analysis, fewer).predicted.after_per_s < target);
    }
    options.target_rate_per_s = most * 1.5;
    const OptimizeResult infeasible = optimize(p.pipeline, p.analysis, options);
    CHECK(infeasible.status == PlanStatus::kInfeasible);
    CHECK(infeasible.plan.edits.empty());
  }
  CHECK(unchanged > 10);
}

}  // namespace
}  // namespace plumber
