// SPDX-License-Identifier: Apache-2.0
#include "optimize/rejected.h"

#include <fmt/format.h>

#include "base/number_format.h"

namespace plumber {
namespace {

/// What the plan's rate would be with a cache above this node instead of those on its path.
double rate_with_cache(const Problem& problem, Settled settled, NodeId id) {
  Setting& setting = settled.setting;
  setting[id].cached = true;
  for (NodeId above = id; !problem.consumers[above].empty();) {
    above = problem.consumers[above].front();
    if (!problem.stock[above].cached) setting[above].cached = false;
  }
  const double period_s = evaluate(problem, settled).period_s;
  return period_s > 0 ? 1 / period_s : 0;
}

std::string why_no_cache(const Problem& problem, const BestPlan& plan, NodeId id, double period_s) {
  const double rate = 1 / period_s;
  const double with = rate_with_cache(problem, plan.settled, id);
  if (with > rate * (1 + kTolerance)) {
    const auto& epochs = problem.options->epochs;
    if (epochs) return "it does not pay back within " + counted(*epochs, "epoch");
    return fmt::format("{} with it, {} as planned: too little for an order that varies less",
                       format_rate(with), format_rate(rate));
  }
  return fmt::format("{} with it, {} as planned: it brings nothing", format_rate(with),
                     format_rate(rate));
}

std::string why_not_parallel(const Problem& problem, NodeId id, double period_s) {
  if (!(problem.cost(id).work_s > 0)) return "it is not the bottleneck";
  return fmt::format("it is not the bottleneck: {} of work in a period of {}",
                     format_seconds(problem.cost(id).work_s), format_seconds(period_s));
}

/// An active node that could run parallel, or with more calls in flight, and stays as it is.
const ModeChange* unused_change(const Problem& problem, const BestPlan& plan, NodeId id) {
  if (plan.settled.changes[id] != nullptr) return nullptr;
  for (const ModeChoice& choice : plan.choices.nodes[id].modes) {
    const bool more = choice.setting.parallelism > problem.stock[id].parallelism;
    if (choice.change != nullptr && more) return choice.change;
  }
  return nullptr;
}

}  // namespace

std::vector<Rejected> rejected_edits(const Problem& problem, const BestPlan& plan) {
  std::vector<Rejected> rejected = plan.choices.rejected;
  const PerNode<bool> active = active_nodes(*problem.pipeline, plan.settled.setting);
  const double period_s = evaluate(problem, plan.settled).period_s;
  if (!(period_s > 0)) return rejected;
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const bool served = plan.settled.setting[id].cached;
    if (plan.choices.nodes[id].cache_bytes && !served) {
      rejected.push_back({edit_word(EditKind::kInsertCache), problem.node(id).name,
                          why_no_cache(problem, plan, id, period_s)});
    }
    const ModeChange* change = unused_change(problem, plan, id);
    if (change != nullptr && active[id] && !served) {
      rejected.push_back({edit_word(change->edit), problem.node(id).name,
                          why_not_parallel(problem, id, period_s)});
    }
  }
  return rejected;
}

}  // namespace plumber
