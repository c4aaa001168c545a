// SPDX-License-Identifier: Apache-2.0
#include "optimize/programme.h"

#include <algorithm>

#include "optimize/programme_builder.h"

namespace plumber {
namespace {

/// Costs that put edits before threads and threads before memory: all threads together weigh less
/// than one edit, and all memory less than one thread.
struct Preference {
  double thread = 0;
  double byte = 0;
};

Preference preference_of(const ProgrammeInput& input) {
  double threads = 1, bytes = 1;
  for (const NodeOptions& node : input.nodes) {
    int most_threads = 0;
    double most_bytes = 0;
    for (const ModeOption& mode : node.modes) {
      most_threads = std::max(most_threads, mode.threads);
      most_bytes = std::max(most_bytes, mode.memory_bytes);
    }
    threads += most_threads + 1;
    bytes += most_bytes + node.prefetch_bytes + node.cache_bytes.value_or(0);
    threads += node.disk_cache_bytes ? 1 : 0;
  }
  return {0.5 / threads, 0.25 / threads / bytes};
}

void set_preference(LinearProgram& program, const NodeColumns& columns, const NodeOptions& node,
                    const Preference& weight) {
  const auto cost_of = [&](ColumnId id) -> double& { return program.columns[index_of(id)].cost; };
  for (std::size_t m = 0; m < columns.modes.size(); ++m) {
    const ModeOption& mode = node.modes[m];
    cost_of(columns.modes[m]) =
        mode.edits + mode.threads * weight.thread + mode.memory_bytes * weight.byte;
  }
  if (columns.prefetch && !node.prefetch_by_default) {
    cost_of(*columns.prefetch) = 1 + weight.thread + node.prefetch_bytes * weight.byte;
  }
  if (columns.cache) cost_of(*columns.cache) = 1 + *node.cache_bytes * weight.byte;
  // Memory first, where both fit: a file weighs as much as a thread more.
  if (columns.disk_cache) cost_of(*columns.disk_cache) = 1 + weight.thread;
}

bool is_chosen(const Solution& solution, const std::optional<ColumnId>& column) {
  return column && solution[*column] > 0.5;
}

}  // namespace

Programme build_programme(const ProgrammeInput& input, double unit_s) {
  return ProgrammeBuilder(input, unit_s).build();
}

Programme fewest_edits_programme(Programme programme, const ProgrammeInput& input,
                                 double period_s) {
  Column& period = programme.program.columns[index_of(programme.period)];
  period.cost = 0;
  period.upper = period_s / programme.unit_s;
  const Preference weight = preference_of(input);
  for (std::size_t i = 0; i < input.nodes.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    set_preference(programme.program, programme.columns[id], input.nodes[id], weight);
  }
  return programme;
}

Decisions decisions_of(const Programme& programme, const Solution& solution) {
  Decisions decisions(programme.columns.size());
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const NodeColumns& columns = programme.columns[id];
    for (std::size_t m = 0; m < columns.modes.size(); ++m) {
      if (is_chosen(solution, columns.modes[m])) decisions[id].mode = static_cast<int>(m);
    }
    decisions[id].prefetch = is_chosen(solution, columns.prefetch);
    decisions[id].on_disk = is_chosen(solution, columns.disk_cache);
    decisions[id].cache = decisions[id].on_disk || is_chosen(solution, columns.cache);
  }
  return decisions;
}

}  // namespace plumber
