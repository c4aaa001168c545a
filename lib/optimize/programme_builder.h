// SPDX-License-Identifier: Apache-2.0
// How the programme of programme.h is put together; for programme*.cc only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimize/programme.h"

namespace plumber {

/// Costs that add up on one thread. Those of nodes without a choice count while the place of the
/// node is active; `places` holds them by the place's number.
struct Load {
  std::map<int, double> places;
  std::map<ColumnId, double> columns;
  double constant = 0;
  double most = 0;  // no decision makes it larger

  void add(const Load& other, double factor = 1);

  /// Adds `part` and empties it; quick where this load is still empty.
  void take(Load& part);

  bool empty() const { return places.empty() && columns.empty() && constant == 0; }
};

class ProgrammeBuilder {
 public:
  ProgrammeBuilder(const ProgrammeInput& input, double unit_s);
  Programme build();

 private:
  using ChosenBy = std::optional<ColumnId>;  // nullopt: the node has no choice

  LinearProgram& program() { return result_.program; }
  double scaled(double seconds) const { return seconds / result_.unit_s; }
  const std::string& name(NodeId id) const { return pipeline_[id].name; }
  const NodeOptions& options(NodeId id) const { return input_.nodes[id]; }

  void add_choices(NodeId id);
  void place_below(NodeId id);
  void add_modes(NodeId id);

  void add_node(NodeId id);
  void add_shared(NodeId id);
  Load run(NodeId id, Load inputs, Load inner);
  Load handed_over(NodeId id) const;
  void read_beside(NodeId id, const Load& inner);
  Load either(NodeId id, const Load& thread, const Load& through);
  Load split(NodeId id, const Load& load);
  void forbid_double_boundary(NodeId id, ColumnId prefetch);
  void add_cache_choice(NodeId id, std::vector<ColumnId>& caches);
  void add_cache_read(NodeId id, Load& load);

  void at_most_column(const std::string& row_name, const Load& load, ColumnId column);
  void at_most_period(const std::string& row_name, const Load& load, double share);
  void add_largest_rows();
  void add_cpu_row();
  void add_boundary_rows(ColumnId beside);
  double most_cpu(NodeId id) const;

  void charge(Load& load, NodeId id, ChosenBy column, double amount) const;
  void expand(int place, double coefficient, Row& row) const;

  /// visit(mode, the column that chooses it) for each mode of a node.
  template <class Visit>
  void each_mode(NodeId id, const Visit& visit) const {
    const std::vector<ColumnId>& columns = result_.columns[id].modes;
    for (std::size_t m = 0; m < options(id).modes.size(); ++m) {
      visit(options(id).modes[m], columns.empty() ? ChosenBy() : ChosenBy(columns[m]));
    }
  }

  const ProgrammeInput& input_;
  const Pipeline& pipeline_;
  Programme result_;
  // A place is a stretch of the graph below the same caches that may be put in: active unless one
  // of them is. Place 0 has none above it.
  std::vector<std::vector<ColumnId>> places_{{}};
  PerNode<int> place_;     // of a node as its consumer sees it
  PerNode<int> below_;     // of the node and its inputs: under a cache that may stand above it
  PerNode<double> share_;  // 1 / threads that run it beside each other: inside an interleave
  PerNode<Load> loads_;
  std::map<int, double> largest_;  // of the loads without a choice, by place
  Load cpu_, python_, boundaries_;
  std::vector<Load> disks_;
  // What is held more than by the first mode of each node.
  Row memory_{"memory", {}, -kInfinity, 0};
  Row room_{"disk_cache", {}, -kInfinity, 0};
};

}  // namespace plumber
