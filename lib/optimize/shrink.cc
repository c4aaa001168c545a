// SPDX-License-Identifier: Apache-2.0
#include "optimize/shrink.h"

#include <algorithm>
#include <cmath>

#include "ops/memory_ledger.h"
#include "optimize/ledger.h"

namespace plumber {
namespace {

constexpr int kHalvings = 60;  // of the interval of periods: as exact as a double

class Shrinking {
 public:
  Shrinking(const Problem& problem, Settled& settled) : problem_(problem), settled_(settled) {
    const Memory held = memory_ledger(*problem.pipeline, problem.analysis->nodes, settled.setting);
    held_ = held_bytes(*problem.pipeline, held);
    const PlannedMemory planned = planned_memory(problem, settled);
    over_bytes_ = planned.planned_bytes - planned.budget_bytes;
  }

  void run() {
    shrink_prefetches(2);
    shrink_prefetches(1);
    if (over_bytes_ > 0) shrink_calls();
  }

 private:
  double element_bytes(NodeId id) const { return problem_.analysis->nodes[id].bytes_per_element; }

  template <class Matches>
  std::vector<NodeId> largest_first(const Matches& matches) const {
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < problem_.pipeline->size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      // What stands in a function is held once for each of its iterators: that is left alone.
      if (!problem_.node(id).outer && held_[id] > 0 && matches(id)) nodes.push_back(id);
    }
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](NodeId a, NodeId b) { return element_bytes(a) > element_bytes(b); });
    return nodes;
  }

  void shrink_prefetches(int elements) {
    const auto is_larger = [&](NodeId id) {
      return problem_.node(id).kind == Kind::kPrefetch &&
             held_[id] > elements * element_bytes(id) * (1 + 1e-9);
    };
    for (const NodeId id : largest_first(is_larger)) {
      if (over_bytes_ <= 0) return;
      over_bytes_ -= held_[id] - elements * element_bytes(id);
      held_[id] = elements * element_bytes(id);
      settled_.buffers[id] = elements;
      settled_.any_edit = true;
    }
  }

  int calls_now(NodeId id) const { return static_cast<int>(problem_.stock[id].parallelism); }

  /// Fewest calls that keep up with a period. Hand-offs are left out: they weigh on all calls.
  int calls_for(NodeId id, double period_s) const {
    const double needed = std::ceil(problem_.cost(id).work_s / period_s - 1e-9);
    return static_cast<int>(std::clamp(needed, 1.0, problem_.stock[id].parallelism));
  }

  double saved_bytes(NodeId id, int calls) const {
    const NodeSetting& now = problem_.stock[id];
    return in_flight_bytes(problem_, id, now) -
           in_flight_bytes(problem_, id, {now.mode, static_cast<double>(calls)});
  }

  double saved_bytes(const std::vector<NodeId>& nodes, double period_s) const {
    double bytes = 0;
    for (const NodeId id : nodes) bytes += saved_bytes(id, calls_for(id, period_s));
    return bytes;
  }

  /// The shortest period at which fewer calls save enough; the longest one if none does.
  double period_to_fit(const std::vector<NodeId>& nodes) const {
    double shortest_s = 0, longest_s = 1e-9;
    for (const NodeId id : nodes) longest_s = std::max(longest_s, problem_.cost(id).work_s);
    for (int i = 0; i < kHalvings; ++i) {
      const double middle_s = (shortest_s + longest_s) / 2;
      (saved_bytes(nodes, middle_s) >= over_bytes_ ? longest_s : shortest_s) = middle_s;
    }
    return longest_s;
  }

  void shrink_calls() {
    const auto holds_calls = [&](NodeId id) {
      const auto changes = mode_changes(problem_.node(id).op);
      return !changes.empty() && !cycle_is_computed(problem_.node(id)) &&
             changes.front().mode == problem_.stock[id].mode && calls_now(id) > 1 &&
             in_flight_bytes(problem_, id, problem_.stock[id]) > 0;
    };
    const std::vector<NodeId> nodes = to_change(largest_first(holds_calls));
    const double period_s = period_to_fit(nodes);
    for (const NodeId id : nodes) {
      const int calls = calls_for(id, period_s);
      if (calls == calls_now(id)) continue;
      settled_.setting[id].parallelism = calls;
      settled_.changes[id] = &mode_changes(problem_.node(id).op).front();
      settled_.any_edit = true;
    }
  }

  /// As few of the nodes as save enough: those with the smallest elements stay as they are.
  std::vector<NodeId> to_change(const std::vector<NodeId>& nodes) const {
    // Calls that the program's own period does not need are no loss.
    const double stock_s = evaluate(problem_, problem_.stock).period_s;
    const double period_s = std::max(period_to_fit(nodes), stock_s);
    double spare_bytes = saved_bytes(nodes, period_s) - over_bytes_;
    std::vector<NodeId> changed;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const double bytes = saved_bytes(nodes[i], calls_for(nodes[i], period_s));
      const bool stays = bytes <= spare_bytes;
      if (stays) spare_bytes -= bytes;
      if (!stays && bytes > 0) changed.push_back(nodes[i]);
    }
    return changed;
  }

  const Problem& problem_;
  Settled& settled_;
  PerNode<double> held_;
  double over_bytes_ = 0;
};

}  // namespace

void shrink(const Problem& problem, Settled& settled) { Shrinking(problem, settled).run(); }

}  // namespace plumber
