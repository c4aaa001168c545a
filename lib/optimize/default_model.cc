// SPDX-License-Identifier: Apache-2.0
#include "optimize/default_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/number_format.h"
#include "lp/solution.h"
#include "optimize/ledger.h"
#include "optimize/more.h"
#include "optimize/moves.h"
#include "optimize/plan_builder.h"
#include "optimize/predicted.h"
#include "optimize/rejected.h"
#include "optimize/target.h"
#include "pipeline/below.h"

namespace plumber {
namespace {

constexpr double kMiB = 0x1p20;

/// What stops the rate: a resource by its name, or the nodes of a thread or of parallel calls.
std::vector<std::string> binding_of(const Problem& problem, const Bound& bound) {
  switch (bound.kind) {
    case BoundKind::kCpu:
      return {"cores"};
    case BoundKind::kDisk:
      return {"disk"};
    case BoundKind::kPythonLock:
      return {"python-lock"};
    case BoundKind::kConsumer:
      return {"consumer"};
    case BoundKind::kThread:
    case BoundKind::kParallel:
      break;
  }
  std::vector<std::string> names;
  for (const NodeId id : bound.nodes) names.push_back(problem.node(id).name);
  return names;
}

LpResult lp_result(const Problem& problem, const BestPlan& plan) {
  LpResult result;
  const Evaluation& best = plan.found.evaluation;
  if (best.period_s > 0) result.objective_per_s = 1 / best.period_s;
  const PerNode<bool> active = active_nodes(*problem.pipeline, plan.found.best.setting);
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const bool served = plan.found.best.setting[id].cached;
    const double cpu_s = problem.cost(id).cpu_s;
    if (active[id] && !served && cpu_s > 0) result.theta.push_back({id, cpu_s / best.period_s});
  }
  if (!best.bounds.empty()) result.binding = binding_of(problem, best.bounds.front());
  result.program = plan.found.program;
  return result;
}

bool has_shuffle(const Problem& problem) {
  return std::any_of(problem.pipeline->nodes.begin(), problem.pipeline->nodes.end(),
                     [](const Node& node) {
                       return node.kind == Kind::kShuffle || node.kind == Kind::kShuffleRepeat;
                     });
}

/// The program holds more than its memory before anything is planned.
std::string over_budget_text(const Problem& problem, const PlannedMemory& memory, bool fits) {
  const std::string budget = format_bytes(memory.budget_bytes);
  if (fits) {
    return fmt::format(
        "the program holds {}, more than the {} it may use: buffers shrink, nothing is added",
        format_bytes(memory.stock_bytes), budget);
  }
  return fmt::format(
      "the program holds {} even with its prefetches and calls at their least, more than the {} it "
      "may use{}; --mem {:.0f}M would do",
      format_bytes(memory.planned_bytes), budget,
      has_shuffle(problem) ? " (shuffle buffers stay: smaller ones would mix the elements less)"
                           : "",
      std::ceil(memory.planned_bytes / kMiB));
}

void warn(const Problem& problem, const BestPlan& plan, OptimizeResult& result) {
  if (plan.over_budget) {
    result.warnings.push_back(over_budget_text(problem, result.memory, plan.fits));
  }
  const double gap = 1 - plan.found.bound_period_s / plan.found.best.period_s;
  if (plan.found.proven || gap <= kTolerance) return;
  const bool known = plan.found.bound_period_s > 0 && gap < 0.5;
  result.warnings.push_back(
      known ? fmt::format("the search was cut short: no plan is more than {} faster",
                          format_share(gap / (1 - gap)))
            : "the program is too large for an exact search: a faster plan may exist");
}

/// Everything that is reported of a plan within the limits of a problem.
void fill(const Problem& problem, const BestPlan& plan, OptimizeResult& result) {
  result.predicted = predict(problem, plan.settled, plan.without_cache_period_s);
  result.lp = lp_result(problem, plan);
  result.memory = planned_memory(problem, plan.settled);
  result.memory.stock_bytes = stock_memory_bytes(problem);
  result.disk = planned_disk(problem, plan.settled);
  result.rejected = rejected_edits(problem, plan);
  warn(problem, plan, result);
  if (!plan.fits) {
    result.status = PlanStatus::kInfeasible;
  } else if (plan.settled.any_edit) {
    result.status = PlanStatus::kOptimal;
    result.plan = build_plan(problem, plan.settled);
  }
}

/// What the program itself does, under TensorFlow's default rewrites: moves left out.
void compare_with(const Problem& original, OptimizeResult& result) {
  const double period_s = evaluate(original, original.stock).period_s;
  Predicted& predicted = result.predicted;
  predicted.before_per_s = period_s > 0 ? 1 / period_s : 0;
  if (predicted.before_per_s > 0)
    predicted.speedup = predicted.after_per_s / predicted.before_per_s;
  result.memory.stock_bytes = stock_memory_bytes(original);
}

/// A cache that makes room for another one above or below it is not missed for being cheap to do
/// without.
void say_which_cache_follows(const Pipeline& pipeline, std::vector<Edit>& edits) {
  const auto caches = [](const Edit& edit) {
    return edit.kind == EditKind::kInsertCache || edit.kind == EditKind::kInsertPartialCache;
  };
  for (Edit& edit : edits) {
    const auto removed =
        edit.kind == EditKind::kRemove ? find_node(pipeline, edit.node) : std::nullopt;
    if (!removed || pipeline[*removed].kind != Kind::kCache) continue;
    const std::vector<NodeId> below = all_below(pipeline, {*removed});
    const auto other = std::ranges::find_if(edits, [&](const Edit& added) {
      const auto place = caches(added) ? find_node(pipeline, added.node) : std::nullopt;
      return place && (std::ranges::count(below, *place) > 0 ||
                       std::ranges::count(all_below(pipeline, {*place}), *removed) > 0);
    });
    if (other == edits.end()) continue;
    edit.reason = fmt::format("the cache after {} takes its place", other->node);
  }
}

/// All that a plan says of its rate is said of the mean over an epoch, of which the partial cache
/// serves a share; its bound is that of the rest.
void mix_in_hits(const ChosenMoves& moves, OptimizeResult& result) {
  Predicted& predicted = result.predicted;
  const auto mix = [&](double& rate) {
    rate = mixed_rate_per_s(moves.hit_share, moves.hit_rate_per_s, rate);
  };
  const auto mix_gain = [&](double now, double& gain) {
    double then = now + gain;
    mix(then);
    mix(now);
    gain = then - now;
  };
  predicted.first_epoch_per_s = predicted.after_per_s;
  predicted.cached_share = moves.hit_share;
  mix_gain(predicted.after_per_s, result.more.core_gain_per_s);
  if (result.more.disk_gain_per_s) mix_gain(predicted.after_per_s, *result.more.disk_gain_per_s);
  if (predicted.sensitivity) {
    mix(predicted.sensitivity->low_per_s);
    mix(predicted.sensitivity->high_per_s);
  }
  for (double* rate :
       {&predicted.after_per_s, &predicted.range_per_s.first, &predicted.range_per_s.second})
    mix(*rate);
  if (predicted.before_per_s > 0)
    predicted.speedup = predicted.after_per_s / predicted.before_per_s;
}

/// The moves come first, and the result speaks of nodes of the pipeline as traced.
void add_moves(const Pipeline& pipeline, const ChosenMoves& moves, OptimizeResult& result) {
  result.rejected.insert(result.rejected.end(), moves.rejected.begin(), moves.rejected.end());
  if (moves.edits.empty()) return;
  if (moves.hit_share > 0) mix_in_hits(moves, result);
  // A partial cache comes last: it copies what lies below it, as the plan has made it.
  const auto is_cut = [](const Edit& edit) { return edit.kind == EditKind::kInsertPartialCache; };
  std::vector<Edit>& edits = result.plan.edits;
  std::copy_if(moves.edits.begin(), moves.edits.end(), std::back_inserter(edits), is_cut);
  std::vector<Edit> first = moves.edits;
  std::erase_if(first, is_cut);
  edits.insert(edits.begin(), first.begin(), first.end());
  say_which_cache_follows(pipeline, edits);
  const Pipeline& moved = moves.moved.pipeline;
  std::map<NodeId, double> cores;  // those that a move has made count with the node they work for
  for (const Theta& theta : result.lp.theta)
    cores[*original_of(pipeline, moved, theta.node)] += theta.cores;
  result.lp.theta.clear();
  for (const auto& [node, share] : cores) result.lp.theta.push_back({node, share});
  if (!result.predicted.bound) return;
  for (NodeId& node : result.predicted.bound->nodes) node = *original_of(pipeline, moved, node);
}

/// The limits that reach the target, with the moves that suit them: on fewer cores others may.
TargetLimits fewest_for_target(const Pipeline& pipeline, const Analysis& analysis,
                               const OptimizeOptions& options, ChosenMoves& moves) {
  TargetLimits target = limits_for_target(moves.moved.pipeline, moves.moved.analysis, options);
  OptimizeOptions fewer = options;
  while (target.reached && !options.prices && target.limits.cores > 1) {
    fewer.limits.cores = std::ceil(target.limits.cores) - 1;
    ChosenMoves others = choose_moves(pipeline, analysis, fewer);
    const TargetLimits reached =
        limits_for_target(others.moved.pipeline, others.moved.analysis, fewer);
    if (!reached.reached) break;
    target = reached;
    target.limits.cores_from_trace = false;
    moves = std::move(others);
  }
  return target;
}

}  // namespace

OptimizeResult optimize_by_default_model(const Pipeline& pipeline, const Analysis& analysis,
                                         const OptimizeOptions& options) {
  OptimizeResult result;
  OptimizeOptions within = options;
  double target_per_s = options.target_rate_per_s.value_or(0);  // 0: none
  ChosenMoves moves = choose_moves(pipeline, analysis, options);
  if (!moves.warning.empty()) result.warnings.push_back(moves.warning);
  if (target_per_s > 0) {
    const TargetLimits target = fewest_for_target(pipeline, analysis, options, moves);
    within.limits = target.limits;
    result.more.unchanged_cores = unchanged_cores(pipeline, analysis, options);
    result.provision = target.provision;
    if (!target.reached) target_per_s = 0;
  }
  // From here on the limits are fixed.
  result.limits = within.limits;
  const Problem original = make_problem(pipeline, analysis, within, machine_of(within.limits));
  // A target that is reached with the nodes where they are.
  if (target_per_s > 0 && !moves.edits.empty() && plan_reaches(original, target_per_s))
    moves = {{pipeline, analysis}, {}, {}, {}};
  const Problem problem =
      make_problem(moves.moved.pipeline, moves.moved.analysis, within, machine_of(within.limits));
  const BestPlan plan = plan_for_target(problem, target_per_s);
  fill(problem, plan, result);
  // What more would bring to the fastest plan: a target's is not meant to be that.
  add_more_resources(problem, target_per_s > 0 ? best_plan(problem) : plan, result.more);
  if (!moves.edits.empty()) {
    if (!plan.settled.any_edit) result.plan = build_plan(problem, plan.settled);
    if (plan.fits) result.status = PlanStatus::kOptimal;
  }
  if (!moves.edits.empty() || (result.provision && result.status == PlanStatus::kOptimal)) {
    // Stock TensorFlow has the disks that were given, not the slow one that a target makes do with.
    Limits stock = within.limits;
    stock.disks = options.limits.disks;
    compare_with(make_problem(pipeline, analysis, within, machine_of(stock)), result);
  }
  const std::optional<Bound> bound = result.predicted.bound;
  add_moves(pipeline, moves, result);
  const bool missed = options.target_rate_per_s && target_per_s <= 0;
  if (missed && plan.fits)
    result.warnings.push_back(what_stops(problem, result.predicted.after_per_s, bound));
  if (missed) result.status = PlanStatus::kInfeasible;
  if (result.status == PlanStatus::kInfeasible) result.plan.edits.clear();
  return result;
}

}  // namespace plumber
