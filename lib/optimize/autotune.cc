// SPDX-License-Identifier: Apache-2.0
#include "optimize/autotune.h"

namespace plumber {
namespace {

constexpr double kWorthIt = 0.02;

bool is_parallel(const NodeSetting& setting) {
  return setting.mode == Mode::kParallel || setting.mode == Mode::kParallelInline;
}

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
      node.threading == Threading::kSynchronous && is_parallel(settled.setting[id]);
  return node.parallelism == kAutotune || by_rewrite;
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

void switch_autotune_off(const Problem& problem, Settled& settled) {
  if (!problem.pipeline->options.autotune || !leaves_nothing_to_tune(problem, settled)) return;
  Settled without = settled;
  without.autotune_off = true;
  const double with_s = evaluate(problem, settled).period_s;
  if (evaluate(problem, without).period_s > with_s * (1 - kWorthIt)) return;
  settled.autotune_off = true;
  settled.any_edit = true;
}

}  // namespace plumber
