// SPDX-License-Identifier: Apache-2.0
#include "optimize/moved.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/cache_class.h"
#include "ops/cardinality.h"
#include "optimize/node_order.h"

namespace plumber {
namespace {

constexpr double kLeastOfWork = 0.25;

void scale(NodeAnalysis& node, NodeCost& cost, double share) {
  for (double* value : {&cost.work_s, &cost.cpu_s, &cost.calls, &cost.elements, &node.elements,
                        &node.visit_ratio, &node.calls, &node.demand_s, &node.busy_cores})
    *value *= share;
  if (node.rate_per_core_per_s && share > 0) *node.rate_per_core_per_s /= share;
}

// One call a batch: what the ops of the function cost a call is paid once.
void work_on_batches(const Node& map, double batches, NodeAnalysis& node, NodeCost& cost) {
  const double calls = std::max(cost.calls, cost.elements);
  const double ops = map.function ? map.function->facts.ops : 0;
  const double saved_s = std::max(0.0, calls - batches) * ops * kOpOfACall_s;
  const double work_s = std::max(cost.work_s * kLeastOfWork, cost.work_s - saved_s);
  cost.cpu_s = cost.work_s > 0 ? cost.cpu_s * work_s / cost.work_s : cost.cpu_s;
  cost.work_s = work_s;
  cost.calls = cost.calls > 0 ? batches : 0;
  cost.elements = batches;
  node.calls = cost.calls;
  node.visit_ratio = batches;
}

}  // namespace

void refresh(Moved& moved, const std::set<std::string>& names) {
  if (names.empty()) return;
  PerNode<Cardinality> cardinality(moved.pipeline.size());
  for (std::size_t i = 0; i < cardinality.size(); ++i)
    cardinality[static_cast<NodeId>(i)] =
        moved.analysis.nodes[static_cast<NodeId>(i)].elements_per_epoch;
  const auto verdicts = cache_verdicts(moved.pipeline, cardinality);
  for (std::size_t i = 0; i < cardinality.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    NodeAnalysis& node = moved.analysis.nodes[id];
    if (!names.contains(moved.pipeline[id].name)) continue;
    node.cache = verdicts[id];
    node.materialized_bytes = materialized_bytes(cardinality[id], node.bytes_per_element);
  }
}

namespace {

// As the rewritten program will say of both nodes, which is what later edits are judged by.
void take_shapes_below(Pipeline& p, NodeId map, NodeId above) {
  const Node& source = p[p[map].inputs.front()];
  Node& lower = p[above];
  lower.components = source.components;
  lower.plain_tensors = source.plain_tensors;
  const bool batch = lower.kind == Kind::kBatch;
  p[map].on_batches = p[map].on_batches || batch;
  p[map].new_reader = true;
  if (batch) p[map].equal_shapes = lower.equal_shapes;
  lower.equal_shapes = source.equal_shapes && (!batch || lower.equal_shapes);
}

}  // namespace

void swap_with_map(Moved& moved, NodeId map, NodeId above) {
  Pipeline& p = moved.pipeline;
  Analysis& a = moved.analysis;
  const NodeId source = p[map].inputs.front();
  NodeAnalysis& node = a.nodes[map];
  NodeCost& cost = a.costs.nodes[map];
  const double elements = a.costs.nodes[above].elements;
  const bool batch = p[above].kind == Kind::kBatch;
  const double bytes = a.nodes[source].bytes_per_element;
  if (batch) {
    work_on_batches(p[map], elements, node, cost);
    node.bytes_per_element = a.nodes[above].bytes_per_element;
    a.nodes[above].bytes_per_element =
        bytes * static_cast<double>(std::max<std::int64_t>(1, p[above].count.value_or(1)));
  } else {
    // A take stops pulling by itself: what is saved are calls in flight (ops/take_waste.h).
    if (cost.elements > 0 && p[above].kind != Kind::kTake)
      scale(node, cost, std::min(1.0, elements / cost.elements));
    a.nodes[above].bytes_per_element = bytes;
  }
  node.elements_per_epoch = a.nodes[above].elements_per_epoch;
  node.below_cache = a.nodes[above].below_cache;
  take_shapes_below(p, map, above);
  read_instead(p, above, map, map);
  p[above].inputs.front() = source;
  p[map].inputs.front() = above;
  reindex(moved, put_after(all_of(p), map, above));
}

void lower_map(Moved& moved, NodeId map, NodeId below) {
  Pipeline& p = moved.pipeline;
  Analysis& a = moved.analysis;
  const NodeId source = p[below].inputs.front();
  a.nodes[below].bytes_per_element = a.nodes[map].bytes_per_element;
  a.nodes[map].elements_per_epoch = a.nodes[source].elements_per_epoch;
  a.nodes[map].below_cache = a.nodes[below].below_cache;
  p[below].components = p[map].components;
  p[below].plain_tensors = p[map].plain_tensors;
  p[below].equal_shapes = p[map].equal_shapes;
  for (const NodeId id : {source, map, below}) p[id].new_reader = true;
  read_instead(p, map, below, below);
  p[map].inputs.front() = source;
  p[below].inputs.front() = map;
  reindex(moved, put_after(all_of(p), below, map));
}

void gather_before(Moved& moved, const std::vector<NodeId>& nodes) {
  std::vector<NodeId> order;
  for (const NodeId id : all_of(moved.pipeline)) {
    if (id == nodes.back()) order.insert(order.end(), nodes.begin(), nodes.end());
    if (std::ranges::count(nodes, id) == 0) order.push_back(id);
  }
  reindex(moved, order);
}

void take_out(Moved& moved, NodeId id) {
  Pipeline& p = moved.pipeline;
  read_instead(p, id, p[id].inputs.front(), id);
  p[p[id].inputs.front()].new_reader = true;
  std::vector<NodeId> order = all_of(p);
  order.erase(std::ranges::find(order, id));
  reindex(moved, order);
}

void forget_cache(Moved& moved, NodeId cache) {
  const NodeCost& cost = moved.analysis.costs.nodes[cache];
  HandOff& constants = moved.analysis.costs.hand_off;
  const double elements = std::max(cost.elements, 1e-9);
  const double untuned_s = std::max(0.0, cost.work_s - cost.bookkeeping_s);
  constants.cache_read = std::max(constants.cache_read, cost.work_s / elements);
  constants.cache_read_untuned = std::max(constants.cache_read_untuned, untuned_s / elements);
  for (NodeId n = cache; !moved.pipeline[n].inputs.empty();) {
    n = moved.pipeline[n].inputs.front();
    Node& node = moved.pipeline[n];
    node.cache_removed = true;
    if (node.kind != Kind::kPrefetch && node.kind != Kind::kWrapper) return;
  }
}

void put_inside(Moved& moved, NodeId map, NodeId interleave) {
  Pipeline& p = moved.pipeline;
  Analysis& a = moved.analysis;
  const NodeId inner = p[interleave].inner.front();
  NodeAnalysis& outer = a.nodes[interleave];
  const NodeAnalysis& inside = a.nodes[map];
  outer.bytes_per_element = inside.bytes_per_element;
  outer.visit_ratio = inside.visit_ratio;
  outer.elements_per_epoch = inside.elements_per_epoch;
  a.costs.nodes[interleave].elements = a.costs.nodes[map].elements;
  if (p[map].kind == Kind::kBatch && p[interleave].block_length) {
    const std::int64_t batches =
        *p[interleave].block_length / std::max<std::int64_t>(1, *p[map].count);
    p[interleave].block_length = p[interleave].buffer_size = batches + 1;
  }
  p[interleave].components = p[map].components;
  p[interleave].equal_shapes = p[map].equal_shapes;
  read_instead(p, map, interleave, interleave);
  p[interleave].inner.front() = map;
  p[map].inputs.front() = inner;
  p[map].outer = interleave;
  p[map].moved_inside = true;
  // Functions run their data sets as they are written: TensorFlow parallelises none in them.
  reindex(moved, put_after(all_of(p), map, inner));
}

}  // namespace plumber
