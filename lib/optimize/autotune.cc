// SPDX-License-Identifier: Apache-2.0
#include "optimize/autotune.h"

namespace plumber {
namespace {

constexpr double kWorthIt = 0.02;    // of the rate
constexpr double kWorthCores = 0.1;  // of the core seconds, where the rate stays

/// True if an edit of the plan spells out how the node runs.
bool is_written(const Settled& settled, NodeId id) {
  const ModeChange* change = settled.changes[id];
  return change != nullptr && change->edit != EditKind::kSetOptions;
}

/// TensorFlow parallelises plain maps only for AUTOTUNE to tune.
bool needs_autotune(const Problem& problem, const Settled& settled, NodeId id) {
  if (is_written(settled, id)) return false;
  const Node& node = problem.node(id);
  const bool by_rewrite =
      node.threading == Threading::kSynchronous && is_parallel(settled.setting[id].mode);
  return node.parallelism == kAutotune || by_rewrite;
}

/// TensorFlow's default rewrites make it parallel.
bool is_injected(const Problem& problem, NodeId id) {
  return problem.node(id).threading == Threading::kSynchronous &&
         is_parallel(problem.stock[id].mode);
}

bool leaves_nothing_to_tune(const Problem& problem, const Settled& settled) {
  for (std::size_t i = 0; i < settled.setting.size(); ++i) {
    if (needs_autotune(problem, settled, static_cast<NodeId>(i))) return false;
  }
  // TensorFlow injects a prefetch for AUTOTUNE only; a planned one is written.
  const NodeId last = last_node(*problem.pipeline);
  const NodeSetting& end = settled.setting[last];
  return end.prefetch_above || is_boundary(problem.node(last), end);
}

}  // namespace

bool can_do_without_autotune(const Problem& problem) {
  if (problem.options->keep_autotune || !problem.pipeline->options.autotune) return false;
  for (std::size_t i = 0; i < problem.stock.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const bool tuned = problem.node(id).parallelism == kAutotune || is_injected(problem, id);
    if (tuned && !can_be_fixed(problem, id)) return false;
  }
  return true;
}

void switch_autotune_off(const Problem& problem, Settled& settled) {
  if (!problem.pipeline->options.autotune || !leaves_nothing_to_tune(problem, settled)) return;
  Settled without = settled;
  without.autotune_off = true;
  const Evaluation on = evaluate(problem, settled), off = evaluate(problem, without);
  const bool faster = off.period_s <= on.period_s * (1 - kWorthIt);
  const bool cheaper = off.cpu_s <= on.cpu_s * (1 - kWorthCores);
  if (!faster && !cheaper) return;
  settled.autotune_off = true;
  settled.any_edit = true;
}

}  // namespace plumber
