// SPDX-License-Identifier: Apache-2.0
#include "optimize/programme_builder.h"

#include <algorithm>
#include <utility>

namespace plumber {
namespace {

constexpr int kNever = -1;       // the place of what lies below a filled cache of the program
constexpr double kMiB = 0x1p20;  // the unit of memory in the program

}  // namespace

void Load::add(const Load& other, double factor) {
  for (const auto& [place, value] : other.places) places[place] += factor * value;
  for (const auto& [column, value] : other.columns) columns[column] += factor * value;
  constant += factor * other.constant;
  most += factor * other.most;
}

void Load::take(Load& part) {
  if (places.size() + columns.size() < part.places.size() + part.columns.size()) {
    std::swap(*this, part);
  }
  add(part);
  part = Load{};
}

ProgrammeBuilder::ProgrammeBuilder(const ProgrammeInput& input, double unit_s)
    : input_(input),
      pipeline_(*input.pipeline),
      place_(pipeline_.size(), 0),
      below_(pipeline_.size(), 0),
      share_(pipeline_.size(), 1),
      loads_(pipeline_.size()),
      disks_(input.disks) {
  result_.unit_s = unit_s;
  result_.columns = PerNode<NodeColumns>(pipeline_.size());
  program().name = "period of one root element";
  result_.period = add_column(program(), {"period", 0, kInfinity, 1});
}

Programme ProgrammeBuilder::build() {
  // From here on the columns are fixed, and which caches make which node inactive.
  for (std::size_t i = pipeline_.size(); i-- > 0;) add_choices(static_cast<NodeId>(i));
  // Then what each consumer pays, source first.
  for (std::size_t i = 0; i < pipeline_.size(); ++i) add_node(static_cast<NodeId>(i));
  Load root = std::move(loads_[pipeline_.root]);
  root.constant += scaled(input_.think_s);
  at_most_period("consumer", root, 1);
  add_cpu_row();
  for (std::size_t d = 0; d < disks_.size(); ++d) {
    const std::string row = d == 0 ? "disk" : "disk" + std::to_string(d + 1);
    if (!disks_[d].empty()) at_most_column(row, disks_[d], result_.period);
  }
  if (!python_.empty()) at_most_column("python_lock", python_, result_.period);
  memory_.upper += input_.memory_bytes / kMiB;
  if (memory_.upper < kInfinity) add_row(program(), std::move(memory_));
  room_.upper = input_.room_bytes / kMiB;
  if (!room_.terms.empty() && room_.upper < kInfinity) add_row(program(), std::move(room_));
  add_largest_rows();
  return std::move(result_);
}

void ProgrammeBuilder::add_choices(NodeId id) {
  place_below(id);
  NodeColumns& columns = result_.columns[id];
  if (below_[id] != kNever && options(id).modes.size() > 1) add_modes(id);
  if (place_[id] != kNever && options(id).prefetch) {
    columns.prefetch = add_binary(program(), "prefetch:" + name(id));
    memory_.terms.push_back({*columns.prefetch, options(id).prefetch_bytes / kMiB});
  }
}

void ProgrammeBuilder::place_below(NodeId id) {
  below_[id] = options(id).served ? kNever : place_[id];
  if (below_[id] != kNever && (options(id).cache_bytes || options(id).disk_cache_bytes)) {
    std::vector<ColumnId> caches = places_[static_cast<std::size_t>(place_[id])];
    add_cache_choice(id, caches);
    places_.push_back(std::move(caches));
    below_[id] = static_cast<int>(places_.size()) - 1;
  }
  double inner_share = 0;
  for (const ModeOption& mode : options(id).modes) {
    if (mode.inner_share > 0)
      inner_share = inner_share > 0 ? std::min(inner_share, mode.inner_share) : mode.inner_share;
  }
  for (const NodeId input : pipeline_[id].inputs) {
    place_[input] = below_[id];
    share_[input] = share_[id];
  }
  for (const NodeId inner : pipeline_[id].inner) {
    place_[inner] = below_[id];
    share_[inner] = inner_share > 0 ? inner_share : share_[id];
  }
}

void ProgrammeBuilder::add_cache_choice(NodeId id, std::vector<ColumnId>& caches) {
  NodeColumns& columns = result_.columns[id];
  if (const auto bytes = options(id).cache_bytes) {
    columns.cache = add_binary(program(), "cache:" + name(id));
    memory_.terms.push_back({*columns.cache, *bytes / kMiB});
    caches.push_back(*columns.cache);
  }
  if (const auto bytes = options(id).disk_cache_bytes) {
    columns.disk_cache = add_binary(program(), "disk_cache:" + name(id));
    room_.terms.push_back({*columns.disk_cache, *bytes / kMiB});
    caches.push_back(*columns.disk_cache);
  }
  // At most one cache on a path: the caches above and this one.
  Row one{"one_cache:" + name(id), {}, -kInfinity, 1};
  for (auto cache = caches.rbegin(); cache != caches.rend(); ++cache)
    one.terms.push_back({*cache, 1});
  if (caches.size() > 1) add_row(program(), std::move(one));
}

void ProgrammeBuilder::add_modes(NodeId id) {
  Row one{"one_mode:" + name(id), {}, 0, 0};
  for (std::size_t m = 0; m < options(id).modes.size(); ++m) {
    const ColumnId column = add_binary(program(), "mode" + std::to_string(m) + ":" + name(id));
    result_.columns[id].modes.push_back(column);
    one.terms.push_back({column, 1});
    const double more_bytes =
        options(id).modes[m].memory_bytes - options(id).modes.front().memory_bytes;
    memory_.terms.push_back({column, more_bytes / kMiB});
  }
  memory_.upper -= options(id).modes.front().memory_bytes / kMiB;
  expand(below_[id], -1, one);
  one.lower = one.upper;
  add_row(program(), std::move(one));
}

void ProgrammeBuilder::expand(int place, double coefficient, Row& row) const {
  if (place == kNever) return;
  row.upper -= coefficient;
  for (const ColumnId cache : places_[static_cast<std::size_t>(place)]) {
    row.terms.push_back({cache, -coefficient});
  }
}

void ProgrammeBuilder::charge(Load& load, NodeId id, ChosenBy column, double amount) const {
  if (amount == 0 || below_[id] == kNever) return;
  if (column) {
    load.columns[*column] += amount;
  } else {
    load.places[below_[id]] += amount;
  }
}

void ProgrammeBuilder::at_most_column(const std::string& row_name, const Load& load,
                                      ColumnId column) {
  Row row{row_name, {{column, -1}}, -kInfinity, -load.constant};
  for (const auto& [place, value] : load.places) expand(place, value, row);
  for (const auto& [chosen, value] : load.columns) row.terms.push_back({chosen, value});
  add_row(program(), std::move(row));
}

// Of the many loads of nodes without a choice in one place only the largest matters, and those are
// added at the end. Inside a parallel interleave several threads share the load.
void ProgrammeBuilder::at_most_period(const std::string& row_name, const Load& load, double share) {
  if (load.empty()) return;
  if (load.columns.empty() && load.places.size() == 1 && load.constant == 0) {
    double& largest = largest_[load.places.begin()->first];
    largest = std::max(largest, share * load.places.begin()->second);
    return;
  }
  Load shared;
  shared.add(load, share);
  at_most_column(row_name, shared, result_.period);
}

void ProgrammeBuilder::add_largest_rows() {
  for (const auto& [place, value] : largest_) {
    Load load;
    load.places[place] = value;
    if (value > 0) at_most_column("longest" + std::to_string(place), load, result_.period);
  }
}

// CPU / usable cores <= t, unless nothing runs beside anything: one thread does not compete with
// itself.
void ProgrammeBuilder::add_cpu_row() {
  Load cpu;
  cpu.add(cpu_, 1 / input_.usable_cores);
  if (!boundaries_.places.contains(0)) {
    double most = 0;
    for (std::size_t i = 0; i < pipeline_.size(); ++i) most += most_cpu(static_cast<NodeId>(i));
    const ColumnId beside = add_column(program(), {"any_boundary", 0, 1});
    add_boundary_rows(beside);
    cpu.columns[beside] += most / input_.usable_cores;
    cpu.constant -= most / input_.usable_cores;
  }
  at_most_column("cpu", cpu, result_.period);
}

void ProgrammeBuilder::add_boundary_rows(ColumnId beside) {
  int number = 0;
  for (const auto& [place, count] : boundaries_.places) {
    Load one;
    one.places[place] = 1;
    at_most_column("boundary" + std::to_string(++number), one, beside);
  }
  for (const auto& [column, count] : boundaries_.columns) {
    Load one;
    one.columns[column] = 1;
    at_most_column("boundary" + std::to_string(++number), one, beside);
  }
}

double ProgrammeBuilder::most_cpu(NodeId id) const {
  double most_s = 0;
  for (const ModeOption& mode : options(id).modes) most_s = std::max(most_s, mode.cpu_s);
  return scaled(most_s + options(id).cache_read_s + options(id).file_read_s +
                options(id).file_write_s + options(id).prefetch_above_s +
                options(id).prefetch_below_s);
}

}  // namespace plumber
