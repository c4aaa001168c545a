// SPDX-License-Identifier: Apache-2.0
#include "optimize/balance.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plumber {
namespace {

struct Nest {
  std::vector<NodeId> leaves;  // in the order of their elements
  std::vector<NodeId> nodes;   // the top is the last one
  int depth = 0;
};

Nest nest_of(const Pipeline& p, NodeId top) {
  PerNode<int> readers(p.size(), 0);
  for (const Node& node : p.nodes)
    for (const NodeId input : node.inputs) ++readers[input];
  Nest nest;
  std::vector<std::pair<NodeId, int>> stack = {{top, 0}};
  while (!stack.empty()) {
    const auto [id, depth] = stack.back();
    stack.pop_back();
    const bool inside = p[id].kind == Kind::kConcatenate && (id == top || readers[id] == 1);
    if (!inside || p[id].inputs.size() != 2) {
      nest.leaves.push_back(id);
      nest.depth = std::max(nest.depth, depth);
      continue;
    }
    if (id != top) nest.nodes.push_back(id);
    stack.emplace_back(p[id].inputs[1], depth + 1);
    stack.emplace_back(p[id].inputs[0], depth + 1);
  }
  nest.nodes.push_back(top);
  return nest;
}

// The node passes the elements of both inputs; its work an element stays.
void feed(Moved& moved, NodeId id, NodeId first, NodeId second) {
  NodeCost& cost = moved.analysis.costs.nodes[id];
  NodeAnalysis& node = moved.analysis.nodes[id];
  const auto elements_of = [&](NodeId input) { return moved.analysis.costs.nodes[input].elements; };
  const double elements = elements_of(first) + elements_of(second);
  const double share = cost.elements > 0 ? elements / cost.elements : 1;
  for (double* value : {&cost.work_s, &cost.cpu_s, &node.visit_ratio, &node.demand_s})
    *value *= share;
  cost.elements = elements;
  const auto& a = moved.analysis.nodes[first].elements_per_epoch;
  const auto& b = moved.analysis.nodes[second].elements_per_epoch;
  const bool known = a.kind == Cardinality::Kind::kKnown && b.kind == Cardinality::Kind::kKnown;
  node.elements_per_epoch = {known ? a.kind : Cardinality::Kind::kUnknown,
                             known ? a.elements + b.elements : 0};
  moved.pipeline[id].inputs = {first, second};
}

}  // namespace

BalanceGain balance_concatenations(Moved& moved, NodeId top) {
  const Nest nest = nest_of(moved.pipeline, top);
  BalanceGain gain{nest.leaves.size(), nest.depth, 0};
  if (nest.leaves.size() < 4) return gain;
  std::vector<NodeId> level = nest.leaves;
  std::size_t used = 0;
  for (; level.size() > 1; ++gain.depth_after) {
    std::vector<NodeId> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
      feed(moved, nest.nodes[used], level[i], level[i + 1]);
      next.push_back(nest.nodes[used++]);
    }
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
  gather_before(moved, nest.nodes);
  return gain;
}

}  // namespace plumber
