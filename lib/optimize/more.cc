// SPDX-License-Identifier: Apache-2.0
#include "optimize/more.h"

#include <algorithm>
#include <cmath>

#include "ops/memory_ledger.h"
#include "optimize/ledger.h"

namespace plumber {
namespace {

constexpr std::size_t kMemorySteps = 8;  // tried, smallest first
constexpr double kPlenty_bytes = 1e18;
constexpr double kRounding = 1e-9;  // relative
constexpr double kWorthIt = 0.02;
constexpr double kLittleLarger = 1.25;
constexpr double kNearlyAll = 0.95;
constexpr int kHalvings = 8;
constexpr std::size_t kMostTightened = 300;  // nodes; larger programs take long to solve again

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
    settled.setting[id].on_disk = false;
  }
  return planned_memory(problem, settled).planned_bytes;
}

/// What the best plan without new caches would hold if there were memory without end.
double held_without_limit(const Problem& problem) {
  OptimizeOptions options = *problem.options;
  options.limits.memory_bytes = kPlenty_bytes;
  options.allow_cache = false;
  Problem richer = problem;
  richer.options = &options;
  return planned_memory(richer, best_plan(richer, {0, true}).settled).planned_bytes;
}

/// Memory to add so that the plan may change, smallest step first: for the calls and prefetches
/// that did not fit; for each cache that only the memory forbade, beside the program as it is and
/// beside the plan, which may run more calls.
std::vector<double> missing_bytes(const Problem& problem, const BestPlan& plan) {
  std::vector<double> totals = {held_without_limit(problem)};
  const double as_it_is = stock_memory_bytes(problem);
  const double as_planned = held_without_caches(problem, plan);
  for (const NodeId id : plan.choices.too_big) {
    const double bytes = cached_bytes(problem.analysis->nodes[id]);
    for (const double held : {as_it_is, as_planned}) {
      totals.push_back((bytes + held) * (1 + kRounding));
    }
  }
  std::vector<double> steps;
  for (const double total : totals) {
    const double step = total - problem.options->limits.memory_bytes;
    if (step > 0) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  if (steps.size() > kMemorySteps) steps.resize(kMemorySteps);
  return steps;
}

double gain_with(const Problem& problem, const BestPlan& plan, double more_bytes) {
  OptimizeOptions options = *problem.options;
  options.limits.memory_bytes += more_bytes;
  Problem richer = problem;
  richer.options = &options;
  return gain_per_s(problem, richer, plan);
}

/// What is enough of a step for nearly all that it brings: a plan that may hold more does.
NextMemory without_slack(const Problem& problem, const BestPlan& plan, NextMemory step) {
  if (problem.pipeline->size() > kMostTightened) return step;
  double too_little = 0;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (too_little + step.bytes) / 2;
    const double gain = gain_with(problem, plan, middle);
    if (gain >= kNearlyAll * step.gain_per_s) {
      step = {middle, gain};
    } else {
      too_little = middle;
    }
  }
  return step;
}

/// Up to three digits in the unit in which people read it: who gives what is printed gets enough.
double rounded_up(double bytes) {
  double unit = 1;
  while (bytes >= 1024 * unit) unit *= 1024;
  const double digits = std::floor(std::log10(std::max(1.0, bytes / unit))) - 2;
  const double step = unit * std::pow(10.0, digits);
  return std::ceil(bytes / step - kRounding) * step;
}

/// The smallest step that is worth it, or one that is little larger and brings more.
std::optional<NextMemory> next_memory(const Problem& problem, const BestPlan& plan) {
  const double worth_per_s = kWorthIt * rate_of(problem, plan.settled);
  std::optional<NextMemory> next;
  double most_bytes = kPlenty_bytes;
  for (const double bytes : missing_bytes(problem, plan)) {
    if (bytes > most_bytes) break;
    const double gain = gain_with(problem, plan, bytes);
    if (gain <= worth_per_s || (next && gain < 2 * next->gain_per_s)) continue;
    next = NextMemory{bytes, gain};
    most_bytes = std::min(most_bytes, kLittleLarger * bytes);
  }
  if (!next) return std::nullopt;
  const NextMemory step = without_slack(problem, plan, *next);
  return NextMemory{rounded_up(step.bytes), step.gain_per_s};
}

std::optional<double> disk_gain_per_s(const Problem& problem, const BestPlan& plan) {
  if (problem.machine.disks.empty()) return std::nullopt;
  Machine machine = problem.machine;
  machine.disks.clear();
  return gain_per_s(problem, on_machine(problem, machine), plan);
}

}  // namespace

void add_more_resources(const Problem& problem, const BestPlan& plan, MoreResources& more) {
  more.core_gain_per_s = core_gain_per_s(problem, plan);
  more.next_memory = next_memory(problem, plan);
  more.disk_gain_per_s = disk_gain_per_s(problem, plan);
}

}  // namespace plumber
