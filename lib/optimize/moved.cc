// SPDX-License-Identifier: Apache-2.0
#include "optimize/moved.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/cache_class.h"
#include "ops/cardinality.h"
#include "pipeline/plan.h"

namespace plumber {
namespace {

constexpr double kLeastOfWork = 0.25;

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

// `order`: the old ids of the nodes that stay, in their new places.
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

// The node stands right after `place`.
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

namespace {

// Measured on 2 cores with strings of 50 bytes, chunks of 64 to 4096: what an element costs through
// a batch, a slice and a block of an interleave, beside the same elements without (0.3 + 0.6 us);
// and a chunk (90 us). A third more, because work on many threads finds colder caches.
constexpr double kIntoChunk_s = 0.4e-6;
constexpr double kOutOfChunk_s = 0.8e-6;
constexpr double kOpenChunk_s = 120e-6;
constexpr double kCopy_bytes_per_s = 4e9;

template <class T>
void append(PerNode<T>& values, const T& value) {
  PerNode<T> longer(values.size() + 1, value);
  std::copy(values.begin(), values.end(), longer.begin());
  values = std::move(longer);
}

struct NewNode {
  Node node;
  NodeCost cost;
  NodeAnalysis analysis;
  NodeSetting setting;
};

NodeId add_node(Moved& moved, NewNode added) {
  append(moved.analysis.nodes, added.analysis);
  append(moved.analysis.costs.nodes, added.cost);
  append(moved.analysis.setting, added.setting);
  for (PipelineDump& dump : moved.pipeline.dumps) append(dump.counters, Counters{});
  moved.pipeline.nodes.push_back(std::move(added.node));
  return static_cast<NodeId>(moved.pipeline.size() - 1);
}

// A node of that op that hands on `elements` of the source's elements as one.
NewNode node_over(const Moved& moved, NodeId source, const std::string& op, double elements) {
  NewNode made;
  const Node& below = moved.pipeline[source];
  made.node.op = op;
  made.node.kind = op_traits(op).kind;
  made.node.threading = op_traits(op).threading;
  made.node.components = below.components;
  made.node.equal_shapes = true;
  made.node.aligned = true;
  made.node.made_above = below.name;
  const NodeAnalysis& was = moved.analysis.nodes[source];
  made.cost.elements = moved.analysis.costs.nodes[source].elements / elements;
  made.analysis.visit_ratio = made.cost.elements;
  made.analysis.bytes_per_element = was.bytes_per_element * elements;
  made.analysis.elements_per_epoch = was.elements_per_epoch;
  made.analysis.elements_per_epoch.elements = std::ceil(was.elements_per_epoch.elements / elements);
  made.analysis.below_cache = was.below_cache;
  made.analysis.parallelism = 1;
  return made;
}

void set_work(NewNode& made, double work_s) {
  made.cost.work_s = made.cost.cpu_s = made.analysis.demand_s = work_s;
}

}  // namespace

NodeId put_chunks_above(Moved& moved, NodeId source, const ChunkShape& shape) {
  const auto size = static_cast<double>(shape.elements);
  const std::string& name = moved.pipeline[source].name;
  const double elements = moved.analysis.costs.nodes[source].elements;
  const double copy_s = moved.analysis.nodes[source].bytes_per_element / kCopy_bytes_per_s;
  const int tensors = moved.pipeline[source].components;

  NewNode batch = node_over(moved, source, "BatchDatasetV2", size);
  batch.node.name = chunk_name(name);
  batch.node.count = shape.elements;
  batch.node.inputs = {source};
  set_work(batch, elements * (kIntoChunk_s * tensors + copy_s));

  NewNode slices = node_over(moved, source, "TensorSliceDataset", 1);
  slices.node.name = chunks_name(name) + ">TensorSliceDataset";
  set_work(slices, elements * (kOutOfChunk_s * tensors + copy_s) + elements / size * kOpenChunk_s);

  NewNode chunks = node_over(moved, source, "ParallelInterleaveDatasetV4", 1);
  chunks.node.name = chunks_name(name);
  chunks.node.parallelism = chunks.node.cycle_length = shape.at_once;
  chunks.node.block_length = chunks.node.buffer_size = shape.elements + 1;
  chunks.node.prefetched_inputs = 0;
  chunks.cost.iterators = elements / size;

  const NodeId below = add_node(moved, std::move(batch));
  const NodeId inner = add_node(moved, std::move(slices));
  chunks.node.inputs = {below};
  chunks.node.inner = {inner};
  const std::string made = chunks.node.name;
  const NodeId top = add_node(moved, std::move(chunks));
  moved.pipeline[inner].outer = top;
  read_instead(moved.pipeline, source, top, below);
  std::vector<NodeId> order = all_of(moved.pipeline);
  order = put_after(std::move(order), below, source);
  order = put_after(std::move(order), inner, below);
  order = put_after(std::move(order), top, inner);
  reindex(moved, order);
  return *find_node(moved.pipeline, made);
}

}  // namespace plumber
