// SPDX-License-Identifier: Apache-2.0
#include "optimize/node_order.h"

#include <algorithm>
#include <optional>

namespace plumber {
namespace {

template <class T>
PerNode<T> picked(const PerNode<T>& values, const std::vector<NodeId>& order) {
  PerNode<T> result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    if (index_of(order[i]) < values.size()) result[static_cast<NodeId>(i)] = values[order[i]];
  return result;
}

using NewIds = std::vector<std::optional<NodeId>>;

void rename(std::vector<NodeId>& ids, const NewIds& now) {
  std::vector<NodeId> renamed;
  for (const NodeId id : ids)
    if (now[index_of(id)]) renamed.push_back(*now[index_of(id)]);
  ids = std::move(renamed);
}

}  // namespace

void reindex(Moved& moved, const std::vector<NodeId>& order) {
  Pipeline& p = moved.pipeline;
  NewIds now(p.size());
  for (std::size_t i = 0; i < order.size(); ++i) now[index_of(order[i])] = static_cast<NodeId>(i);
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (const NodeId id : order) nodes.push_back(std::move(p.nodes[index_of(id)]));
  p.nodes = std::move(nodes);
  for (Node& node : p.nodes) {
    rename(node.inputs, now);
    rename(node.inner, now);
    if (node.outer) node.outer = now[index_of(*node.outer)];
  }
  p.root = now[index_of(p.root)].value();
  for (PipelineDump& dump : p.dumps) dump.counters = picked(dump.counters, order);
  Analysis& a = moved.analysis;
  a.nodes = picked(a.nodes, order);
  a.costs.nodes = picked(a.costs.nodes, order);
  a.setting = picked(a.setting, order);
  for (Bound& bound : a.bounds) rename(bound.nodes, now);
}

std::vector<NodeId> all_of(const Pipeline& pipeline) {
  std::vector<NodeId> ids;
  for (std::size_t i = 0; i < pipeline.size(); ++i) ids.push_back(static_cast<NodeId>(i));
  return ids;
}

std::vector<NodeId> put_after(std::vector<NodeId> order, NodeId node, NodeId place) {
  order.erase(std::ranges::find(order, node));
  order.insert(std::ranges::find(order, place) + 1, node);
  return order;
}

void read_instead(Pipeline& p, NodeId from, NodeId to, NodeId except) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (static_cast<NodeId>(i) == except) continue;
    std::ranges::replace(p.nodes[i].inputs, from, to);
    std::ranges::replace(p.nodes[i].inner, from, to);
  }
  if (p.root == from) p.root = to;
}

}  // namespace plumber
