// SPDX-License-Identifier: Apache-2.0
#include "optimize/more.h"

#include <algorithm>

#include "optimize/ledger.h"

namespace plumber {
namespace {

constexpr std::size_t kMemorySteps = 4;  // tried, smallest first
constexpr double kWorthIt = 0.02;

double gain_per_s(const Problem& problem, const Problem& richer, const BestPlan& plan) {
  const double now = rate_of(problem, plan.settled);
  return std::max(0.0, rate_of(richer, best_plan(richer, {0, true}).settled) - now);
}

Problem on_machine(const Problem& problem, const Machine& machine) {
  return make_problem(*problem.pipeline, *problem.analysis, *problem.options, machine);
}

double core_gain_per_s(const Problem& problem, const BestPlan& plan) {
  Machine machine = problem.machine;
  machine.cores += 1;
  return gain_per_s(problem, on_machine(problem, machine), plan);
}

/// What the plan holds besides the caches that it adds.
double held_without_caches(const Problem& problem, const BestPlan& plan) {
  Settled settled = plan.settled;
  for (std::size_t i = 0; i < settled.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    settled.setting[id].cached = problem.stock[id].cached;
  }
  return planned_memory(problem, settled).planned_bytes;
}

/// Memory to add for each cache that only the memory forbade, smallest first.
std::vector<double> missing_bytes(const Problem& problem, const BestPlan& plan) {
  const double held = held_without_caches(problem, plan);
  std::vector<double> steps;
  for (const NodeId id : plan.choices.too_big) {
    const auto& bytes = problem.analysis->nodes[id].materialized_bytes;
    // A little more than the cache itself: with it the rest may run with more calls in flight.
    const double step = 1.01 * bytes.value_or(0) + held - problem.options->limits.memory_bytes;
    if (step > 0) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  if (steps.size() > kMemorySteps) steps.resize(kMemorySteps);
  return steps;
}

std::optional<NextMemory> next_memory(const Problem& problem, const BestPlan& plan) {
  for (const double bytes : missing_bytes(problem, plan)) {
    OptimizeOptions options = *problem.options;
    options.limits.memory_bytes += bytes;
    Problem richer = problem;
    richer.options = &options;
    const double gain = gain_per_s(problem, richer, plan);
    if (gain > kWorthIt * rate_of(problem, plan.settled)) return NextMemory{bytes, gain};
  }
  return std::nullopt;
}

std::optional<double> disk_gain_per_s(const Problem& problem, const BestPlan& plan) {
  if (!problem.machine.disk_bytes_per_s) return std::nullopt;
  Machine machine = problem.machine;
  machine.disk_bytes_per_s.reset();
  return gain_per_s(problem, on_machine(problem, machine), plan);
}

}  // namespace

MoreResources more_resources(const Problem& problem, const BestPlan& plan) {
  return {core_gain_per_s(problem, plan), next_memory(problem, plan),
          disk_gain_per_s(problem, plan)};
}

}  // namespace plumber
