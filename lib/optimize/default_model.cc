// SPDX-License-Identifier: Apache-2.0
#include "optimize/default_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_format.h"
#include "lp/solution.h"
#include "optimize/ledger.h"
#include "optimize/more.h"
#include "optimize/plan_builder.h"
#include "optimize/predicted.h"
#include "optimize/rejected.h"

namespace plumber {
namespace {

Problem problem_for(const Pipeline& pipeline, const Analysis& analysis,
                    const OptimizeOptions& options, double cores) {
  return make_problem(pipeline, analysis, options, {cores, options.limits.disk_bytes_per_s});
}

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

void warn(const Problem& problem, const BestPlan& plan, OptimizeResult& result) {
  if (plan.over_budget) {
    result.warnings.push_back(fmt::format(
        "the program holds {}, more than the {} it may use: buffers shrink, nothing is added",
        format_bytes(stock_memory_bytes(problem)),
        format_bytes(problem.options->limits.memory_bytes)));
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
  result.rejected = rejected_edits(problem, plan);
  warn(problem, plan, result);
  if (plan.settled.any_edit) {
    result.status = PlanStatus::kOptimal;
    result.plan = build_plan(problem, plan.settled);
  }
}

bool reaches(const Problem& problem, double rate_per_s) {
  const BestPlan plan = best_plan(problem);
  const double period_s = evaluate(problem, plan.settled.setting).period_s;
  return period_s > 0 && 1 / period_s >= rate_per_s * (1 - 1e-9);
}

/// Fewest cores that reach the rate; nullopt if all of them do not.
std::optional<double> cores_for(const Pipeline& pipeline, const Analysis& analysis,
                                const OptimizeOptions& options, double rate_per_s) {
  const double most = options.limits.cores;
  const auto enough = [&](double cores) {
    return reaches(problem_for(pipeline, analysis, options, cores), rate_per_s);
  };
  if (!enough(most)) return std::nullopt;
  double low = 0, high = std::ceil(most);  // low does not reach it, high does
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (enough(middle) ? high : low) = middle;
  }
  return std::min(high, most);
}

std::string what_stops(const Problem& problem, const OptimizeResult& result) {
  std::string text;
  if (result.predicted.bound && !result.predicted.bound->nodes.empty()) {
    text = ": " + problem.node(result.predicted.bound->nodes.front()).name;
  }
  return fmt::format("the target of {} is out of reach; {} is the most{}",
                     format_rate(*problem.options->target_rate_per_s),
                     format_rate(result.predicted.after_per_s), text);
}

}  // namespace

OptimizeResult optimize_by_default_model(const Pipeline& pipeline, const Analysis& analysis,
                                         const OptimizeOptions& options) {
  OptimizeResult result;
  result.limits = options.limits;
  double target_period_s = 0;
  bool reached = true;
  if (options.target_rate_per_s) {
    const auto cores = cores_for(pipeline, analysis, options, *options.target_rate_per_s);
    reached = cores.has_value();
    if (cores) result.limits.cores = *cores;
    if (cores) target_period_s = 1 / *options.target_rate_per_s;
  }
  // From here on the limits are fixed.
  const Problem problem = problem_for(pipeline, analysis, options, result.limits.cores);
  const BestPlan plan = best_plan(problem, {target_period_s, false});
  fill(problem, plan, result);
  result.more = more_resources(problem, plan);
  if (!reached) {
    result.status = PlanStatus::kInfeasible;
    result.plan.edits.clear();
    result.warnings.push_back(what_stops(problem, result));
  }
  return result;
}

}  // namespace plumber
