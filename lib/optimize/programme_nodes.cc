// SPDX-License-Identifier: Apache-2.0
// The rows of one node: what its modes, a prefetch and a cache above it cost the threads beside it.
#include <algorithm>
#include <utility>

#include "optimize/programme_builder.h"

namespace plumber {

void ProgrammeBuilder::add_node(NodeId id) {
  Load inputs, inner;
  for (const NodeId input : pipeline_[id].inputs) inputs.take(loads_[input]);
  for (const NodeId root : pipeline_[id].inner) inner.take(loads_[root]);
  add_shared(id);
  Load load = run(id, std::move(inputs), std::move(inner));
  const double written = scaled(options(id).file_write_s);
  charge(load, id, std::nullopt, written);
  charge(cpu_, id, std::nullopt, written);
  load.most += written;
  const NodeColumns& columns = result_.columns[id];
  if (options(id).served || columns.cache || columns.disk_cache) add_cache_read(id, load);
  loads_[id] = result_.columns[id].prefetch ? split(id, load) : std::move(load);
}

// What all threads share: cores, disk, the Python lock.
void ProgrammeBuilder::add_shared(NodeId id) {
  each_mode(id, [&](const ModeOption& mode, ChosenBy column) {
    charge(cpu_, id, column, scaled(mode.cpu_s));
    if (mode.boundary) charge(boundaries_, id, column, 1);
    for (std::size_t d = 0; d < mode.disk_s.size(); ++d)
      charge(disks_[d], id, column, scaled(mode.disk_s[d]));
  });
  for (std::size_t d = 0; d < options(id).disk_s.size(); ++d)
    charge(disks_[d], id, std::nullopt, scaled(options(id).disk_s[d]));
  charge(python_, id, std::nullopt, scaled(options(id).python_s));
}

// The node over its inputs; returns what its consumer's thread pays.
Load ProgrammeBuilder::run(NodeId id, Load inputs, Load inner) {
  bool some_boundary = false, all_boundary = true;
  Load below, thread, own;
  each_mode(id, [&](const ModeOption& mode, ChosenBy column) {
    (mode.boundary ? some_boundary : all_boundary) = mode.boundary;
    charge(mode.boundary ? below : thread, id, column,
           scaled(mode.boundary ? mode.below_s : mode.thread_s));
    thread.most = std::max(thread.most, mode.boundary ? 0 : scaled(mode.thread_s));
    charge(own, id, column, scaled(mode.own_s));
  });
  if (some_boundary) {
    at_most_period("calls:" + name(id), own, 1);
    below.add(inputs);
    at_most_period("below:" + name(id), below, share_[id]);
    read_beside(id, inner);
  }
  const Load through = handed_over(id);
  if (all_boundary) return through;
  thread.take(inputs);
  thread.take(inner);
  return some_boundary ? either(id, thread, through) : thread;
}

// What a boundary costs its consumer's thread.
Load ProgrammeBuilder::handed_over(NodeId id) const {
  Load through;
  each_mode(id, [&](const ModeOption& mode, ChosenBy column) {
    if (!mode.boundary) return;
    charge(through, id, column, scaled(mode.thread_s));
    through.most = std::max(through.most, scaled(mode.thread_s));
  });
  return through;
}

// The inner data sets of a parallel interleave: 1 / inner_share of them are read at a time.
void ProgrammeBuilder::read_beside(NodeId id, const Load& inner) {
  if (inner.empty()) return;
  int number = 0;
  each_mode(id, [&](const ModeOption& mode, ChosenBy column) {
    ++number;
    if (mode.inner_share == 0) return;
    Load row;
    row.add(inner, mode.inner_share);
    charge(row, id, column, scaled(mode.inner_s) * mode.inner_share);
    if (column) {  // row <= t + most (1 - chosen)
      row.columns[*column] += row.most;
      row.constant -= row.most;
    }
    at_most_column("inner" + std::to_string(number) + ":" + name(id), row, result_.period);
  });
}

// A column for the larger of two loads: `thread` where the chosen mode is no boundary, `through`.
Load ProgrammeBuilder::either(NodeId id, const Load& thread, const Load& through) {
  const ColumnId column = add_column(program(), {"load:" + name(id)});
  Load released = thread;
  each_mode(id, [&](const ModeOption& mode, ChosenBy chosen) {
    if (mode.boundary) charge(released, id, chosen, -thread.most);
  });
  at_most_column("thread:" + name(id), released, column);
  at_most_column("through:" + name(id), through, column);
  Load load;
  load.columns[column] = 1;
  load.most = std::max(thread.most, through.most);
  return load;
}

// A prefetch that may stand above the node splits its segment.
Load ProgrammeBuilder::split(NodeId id, const Load& load) {
  const ColumnId prefetch = *result_.columns[id].prefetch;
  const double above = scaled(options(id).prefetch_above_s);
  const double under = scaled(options(id).prefetch_below_s);
  forbid_double_boundary(id, prefetch);
  cpu_.columns[prefetch] += above + under;
  boundaries_.columns[prefetch] += 1;
  Load below = load;
  below.columns[prefetch] += under;
  at_most_period("below_prefetch:" + name(id), below, share_[id]);

  const ColumnId column = add_column(program(), {"split:" + name(id)});
  Load released = load;
  released.columns[prefetch] -= load.most;
  at_most_column("unsplit:" + name(id), released, column);
  Load through;
  through.columns[prefetch] = above;
  at_most_column("split_through:" + name(id), through, column);
  Load result;
  result.columns[column] = 1;
  result.most = std::max(load.most, above);
  return result;
}

// A prefetch straight above a boundary brings nothing; where nothing runs there is none either.
void ProgrammeBuilder::forbid_double_boundary(NodeId id, ColumnId prefetch) {
  Row row{"single_boundary:" + name(id), {{prefetch, 1}}, -kInfinity, 0};
  expand(place_[id], -1, row);
  each_mode(id, [&](const ModeOption& mode, ChosenBy column) {
    if (!mode.boundary) return;
    if (column) {
      row.terms.push_back({*column, 1});
    } else {
      expand(below_[id], 1, row);
    }
  });
  if (options(id).prefetch_by_default) row.lower = row.upper;
  add_row(program(), std::move(row));
}

void ProgrammeBuilder::add_cache_read(NodeId id, Load& load) {
  const double read = scaled(options(id).cache_read_s);
  const double file_read = scaled(options(id).file_read_s);
  const auto on_disk = result_.columns[id].disk_cache;
  load.most += on_disk ? std::max(read, file_read) : read;
  if (on_disk) disks_[input_.cache_disk].columns[*on_disk] += scaled(options(id).file_disk_s);
  for (Load* sum : {&load, &cpu_}) {
    if (on_disk) sum->columns[*on_disk] += file_read;
    if (const auto cache = result_.columns[id].cache) {
      sum->columns[*cache] += read;
    } else if (options(id).served && place_[id] >= 0) {
      sum->places[place_[id]] += read;
    }
  }
}

}  // namespace plumber
