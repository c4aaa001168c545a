// SPDX-License-Identifier: Apache-2.0
#include "optimize/settle.h"

#include <algorithm>
#include <cmath>

#include "optimize/calls.h"
#include "optimize/ledger.h"
#include "optimize/programme_input.h"

namespace plumber {
namespace {

bool runs_parallel(const Problem& problem, NodeId id, const NodeSetting& setting) {
  return is_boundary(problem.node(id), setting) && problem.node(id).kind != Kind::kPrefetch;
}

struct Limited {
  NodeId node{};
  double period_s = 0;
  int most_calls = 1;
};

/// Sets the calls of a node: at most what is worth having, and what the memory allows beyond those
/// that the search had counted.
void set_calls(const Problem& problem, const Limited& limited, double& spare_bytes,
               Setting& setting) {
  const NodeId id = limited.node;
  NodeSetting& node = setting[id];
  int calls = std::min(calls_wanted(problem, setting, id, limited.period_s), limited.most_calls);
  const double counted_bytes = in_flight_bytes(problem, id, node);
  const auto more_bytes = [&](int number) {
    return in_flight_bytes(problem, id, {node.mode, static_cast<double>(number)}) - counted_bytes;
  };
  while (calls > node.parallelism && more_bytes(calls) > spare_bytes) --calls;
  spare_bytes -= more_bytes(calls);
  node.parallelism = calls;
}

bool autotuned(const Problem& problem, NodeId id) {
  const Node& node = problem.node(id);
  const bool by_rewrite =
      node.threading == Threading::kSynchronous && runs_parallel(problem, id, problem.stock[id]);
  return by_rewrite || node.parallelism == kAutotune;
}

/// What may still be chosen where the steady state runs nothing; adds the memory that those nodes
/// hold as they are, because a search counts it again.
Choices choices_below_caches(const Problem& problem, const Choices& choices, const Settled& settled,
                             double& memory_bytes) {
  const Setting first = unfilled(problem, settled.setting);
  const PerNode<bool> active = active_nodes(*problem.pipeline, settled.setting);
  Choices below = choices;
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    NodeChoices& node = below.nodes[id];
    const bool is_cache = problem.node(id).kind == Kind::kCache;
    const bool served = !active[id] || (settled.setting[id].cached && !is_cache);
    node.cache_bytes.reset();
    node.disk_cache_bytes.reset();
    node.prefetch = false;
    node.modes.front().setting = first[id];
    if (!served) node.modes.resize(1);
    if (!served) node.take_last = false;
    if (served && node.modes.size() > 1) memory_bytes += in_flight_bytes(problem, id, first[id]);
  }
  return below;
}

const ModeChange* change_to(const Problem& problem, NodeId id, Mode mode) {
  for (const ModeChange& change : mode_changes(problem.node(id).op)) {
    if (change.mode == mode) return &change;
  }
  return nullptr;
}

/// True if anything but numbers in place of AUTOTUNE is changed.
bool differs(const Problem& problem, const Settled& settled) {
  for (std::size_t i = 0; i < settled.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const NodeSetting& now = settled.setting[id];
    const NodeSetting& stock = problem.stock[id];
    const bool inserted = now.cached != stock.cached || now.prefetch_above != stock.prefetch_above;
    if (inserted || settled.changes[id] != nullptr) return true;
  }
  return false;
}

// A prefetch that AUTOTUNE sizes grows while memory is free, beyond any budget.
void fix_buffers(const Problem& problem, double period_s, Settled& settled) {
  if (problem.options->left_out.contains(EditKind::kSetBuffer)) return;
  const PerNode<bool> active = active_nodes(*problem.pipeline, settled.setting);
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = problem.node(id);
    const bool tuned = node.kind == Kind::kPrefetch && node.buffer_size == kAutotune;
    if (!tuned || !active[id] || node.outer || settled.buffers[id] != 0) continue;
    const int size = prefetch_size(problem, id, period_s);
    const double bytes = problem.analysis->nodes[id].bytes_per_element;
    const double counted = node.traced_buffer_size.value_or(0);
    const double most = counted + std::max(0.0, settled.spare_bytes) / std::max(1.0, bytes);
    settled.buffers[id] = std::max(1, static_cast<int>(std::min<double>(size, most)));
    settled.spare_bytes -= (settled.buffers[id] - counted) * bytes;
  }
}

}  // namespace

const Costs& costs_of(const Problem& problem, const Settled& settled) {
  return settled.autotune_off ? problem.untuned : problem.costs;
}

Evaluation evaluate(const Problem& problem, const Settled& settled) {
  return evaluate(*problem.pipeline, costs_of(problem, settled), settled.setting, problem.machine);
}

Evaluation evaluate_first_epoch(const Problem& problem, Settled settled) {
  settled.setting = unfilled(problem, std::move(settled.setting));
  return evaluate(problem, settled);
}

Settled settle(const Problem& problem, const Choices& choices, const Decisions& decisions,
               double memory_bytes) {
  const std::size_t size = problem.pipeline->size();
  const Candidate candidate = candidate_of(problem, choices, decisions);
  Settled settled{candidate.setting, PerNode<const ModeChange*>(size, nullptr),
                  PerNode<char>(size, 0), PerNode<int>(size, 0)};
  const PerNode<bool> active = active_nodes(*problem.pipeline, settled.setting);
  settled.spare_bytes = memory_bytes - candidate.memory_bytes;
  for (std::size_t i = 0; i < size; ++i) {
    const auto id = static_cast<NodeId>(i);
    const auto mode = static_cast<std::size_t>(decisions[id].mode);
    if (mode == 0 || !active[id] || decisions[id].cache) continue;
    settled.changes[id] = choices.nodes[id].modes[mode].change;
    if (runs_parallel(problem, id, settled.setting[id])) {
      set_calls(problem, {id, candidate.period_s, choices.most_calls[id]}, settled.spare_bytes,
                settled.setting);
    }
    if (settled.setting[id] == problem.stock[id]) settled.changes[id] = nullptr;
  }
  settled.any_edit = differs(problem, settled);
  return settled;
}

void settle_first_epoch(const Problem& problem, const Choices& choices, Settled& settled) {
  Problem first = problem;
  first.stock = unfilled(problem, settled.setting);
  double memory_bytes = std::max(0.0, settled.spare_bytes);
  const Choices below = choices_below_caches(problem, choices, settled, memory_bytes);
  if (!any_choice(below)) return;
  const SearchResult found = search(first, below, {memory_bytes});
  const Settled more = settle(first, below, found.best.decisions, memory_bytes);
  for (std::size_t i = 0; i < more.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (more.changes[id] == nullptr) continue;
    settled.changes[id] = more.changes[id];
    settled.setting[id].mode = more.setting[id].mode;
    settled.setting[id].parallelism = more.setting[id].parallelism;
    settled.any_edit = true;
  }
}

bool can_be_fixed(const Problem& problem, NodeId id) {
  const bool reachable = !problem.node(id).outer && !never_ran(problem, id);
  return reachable && problem.machine.cores >= 2 && !cycle_is_computed(problem.node(id)) &&
         !mode_changes(problem.node(id).op).empty();
}

void fix_numbers(const Problem& problem, Settled& settled) {
  const double period_s = evaluate(problem, settled.setting).period_s;
  const double first_s = evaluate(problem, unfilled(problem, settled.setting)).period_s;
  const PerNode<bool> active = active_nodes(*problem.pipeline, settled.setting);
  const PerNode<int> most = most_calls(problem);
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    // On one core AUTOTUNE's one call at a time is all there is.
    if (settled.changes[id] != nullptr || !autotuned(problem, id) || !can_be_fixed(problem, id))
      continue;
    const ModeChange* change = change_to(problem, id, settled.setting[id].mode);
    if (change == nullptr || problem.options->left_out.contains(change->edit)) continue;
    const bool runs_on = active[id] && !(settled.setting[id].cached);
    Setting setting = runs_on ? settled.setting : unfilled(problem, settled.setting);
    set_calls(problem, {id, runs_on ? period_s : first_s, most[id]}, settled.spare_bytes, setting);
    settled.setting[id].parallelism = setting[id].parallelism;
    settled.changes[id] = change;
    settled.fixed_autotune[id] = 1;
  }
  const NodeId last = last_node(*problem.pipeline);
  fix_buffers(problem, period_s, settled);
  const double bytes = problem.analysis->nodes[last].bytes_per_element;
  const bool single =
      problem.node(last).kind == Kind::kPrefetch && problem.node(last).buffer_size == 1;
  if (!single || settled.buffers[last] != 0 || settled.spare_bytes < bytes) return;
  const int wanted = prefetch_size(problem, last, period_s);
  settled.buffers[last] =
      std::max(2, static_cast<int>(std::min<double>(wanted, 1 + settled.spare_bytes / bytes)));
}

}  // namespace plumber
