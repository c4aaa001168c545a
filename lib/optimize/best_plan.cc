// SPDX-License-Identifier: Apache-2.0
#include "optimize/best_plan.h"

#include <algorithm>

#include "lp/linear_program.h"
#include "optimize/autotune.h"
#include "optimize/ledger.h"
#include "optimize/predicted.h"
#include "optimize/short_calls.h"
#include "optimize/shrink.h"

namespace plumber {
namespace {

constexpr double kCachePays = 0.02;
// A cache that narrows the distribution of the order must bring more than a measurement's noise.
constexpr double kOrderCachePays = 0.10;

// Less memory than this share of the budget is not worth an edit.
constexpr double kMemoryStep = 0.01;

/// How much the new caches of a plan must bring; 0 if it has none.
double must_bring(const Problem& problem, const Settled& settled) {
  double share = 0;
  for (std::size_t i = 0; i < settled.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!settled.setting[id].cached || problem.stock[id].cached) continue;
    const bool exact = problem.analysis->nodes[id].cache.cache_class == CacheClass::kExact;
    share = std::max(share, exact ? kCachePays : kOrderCachePays);
  }
  return share;
}

Choices without_files(Choices choices) {
  for (NodeChoices& node : choices.nodes) node.disk_cache_bytes.reset();
  return choices;
}

Choices without_caches(Choices choices) {
  for (NodeChoices& node : choices.nodes) node.cache_bytes.reset();
  return without_files(std::move(choices));
}

bool any_file(const Settled& settled) {
  return std::ranges::any_of(settled.setting,
                             [](const NodeSetting& setting) { return setting.on_disk; });
}

/// A target that the program reaches as it is.
bool reached_by_stock(const Problem& problem, double period_s) {
  return period_s > 0 && evaluate(problem, problem.stock).period_s <= period_s;
}

struct Finished {
  SearchResult found;
  Settled settled;
};

/// Fewest of the calls that the plan would put in place of AUTOTUNE; 0 if there are none.
int fewest_fixed_calls(const Settled& fixed) {
  double fewest = 0;
  for (std::size_t i = 0; i < fixed.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (fixed.fixed_autotune[id] == 0) continue;
    const double calls = fixed.setting[id].parallelism;
    fewest = fewest > 0 ? std::min(fewest, calls) : calls;
  }
  return static_cast<int>(fewest);
}

/// Puts numbers in place of AUTOTUNE, and does without it where that pays.
void fix(const Problem& problem, Settled& settled) {
  Settled fixed = settled;
  const double budget = problem.options->limits.memory_bytes;
  fixed.spare_bytes = budget - planned_memory(problem, settled).planned_bytes;
  fix_numbers(problem, fixed);
  if (problem.options->keep_autotune) {
    settled.least_calls = fewest_fixed_calls(fixed);
    return;
  }
  switch_autotune_off(problem, fixed);
  if (fixed.any_edit) settled = std::move(fixed);
}

Finished finish(const Problem& problem, const Choices& choices, const SearchOptions& options) {
  Problem planned = problem;
  if (can_do_without_autotune(problem)) planned.costs = problem.untuned;
  Finished finished;
  finished.found = search(planned, choices, options);
  const double stock_s = evaluate(problem, problem.stock).period_s;
  const bool faster = finished.found.best.period_s * (1 + kTolerance) < stock_s;
  if (faster && options.period_s <= 0) {  // a target wants fewest changes
    move_short_calls(planned, choices, options.memory_bytes, finished.found);
  }
  finished.settled = settle(planned, choices, finished.found.best.decisions, options.memory_bytes);
  const bool unchanged = !finished.settled.any_edit && reached_by_stock(problem, options.period_s);
  if (unchanged) return finished;
  settle_first_epoch(planned, choices, finished.settled);
  if (options.memory_bytes < kInfinity) fix(problem, finished.settled);
  return finished;
}

void take_better(const Problem& problem, Finished other, Finished& plan) {
  if (rate_of(problem, other.settled) > rate_of(problem, plan.settled)) plan = std::move(other);
}

}  // namespace

double rate_of(const Problem& problem, const Settled& settled) {
  const double later_s = evaluate(problem, settled).period_s;
  if (!problem.options->epochs) return later_s > 0 ? 1 / later_s : 0;
  const double first_s = evaluate_first_epoch(problem, settled).period_s;
  return mean_rate_per_s(first_s, later_s, *problem.options->epochs);
}

BestPlan best_plan(const Problem& problem, const PlanOptions& plan_options) {
  const double period_s = plan_options.period_s;
  const double budget = problem.options->limits.memory_bytes;
  const double spare = budget - stock_memory_bytes(problem);
  BestPlan best;
  best.over_budget = spare < 0;
  best.choices = find_choices(problem, spare);
  SearchOptions options;
  options.memory_bytes = budget - fixed_memory_bytes(problem, best.choices);
  if (best.over_budget) options.memory_bytes = kInfinity;  // nothing is added, nothing to count
  options.period_s = period_s;
  options.quick = plan_options.quick;
  if (period_s > 0 && !reached_by_stock(problem, period_s)) {
    options.memory_step_bytes = kMemoryStep * budget;
  }

  Finished plan = finish(problem, best.choices, options);
  best.without_cache_period_s = evaluate(problem, plan.settled).period_s;
  if (const double share = must_bring(problem, plan.settled); share > 0) {
    Finished plain = finish(problem, without_caches(best.choices), options);
    best.without_cache_period_s = evaluate(problem, plain.settled).period_s;
    // Writing a file may not pay where memory alone does.
    if (any_file(plan.settled) && problem.options->epochs)
      take_better(problem, finish(problem, without_files(best.choices), options), plan);
    const double with = rate_of(problem, plan.settled);
    const double without = rate_of(problem, plain.settled);
    const bool reached = period_s > 0 && best.without_cache_period_s <= period_s;
    if (reached || with < without * (1 + share)) plan = std::move(plain);
  }
  if (best.over_budget) {
    shrink(problem, plan.settled);
    best.fits = planned_memory(problem, plan.settled).planned_bytes <= budget;
  }
  best.found = std::move(plan.found);
  best.settled = std::move(plan.settled);
  return best;
}

}  // namespace plumber
