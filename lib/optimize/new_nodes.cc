// SPDX-License-Identifier: Apache-2.0
#include "optimize/new_nodes.h"

#include <algorithm>
#include <cmath>

#include "optimize/node_order.h"
#include "pipeline/plan.h"

namespace plumber {
namespace {

// Measured on 2 cores with strings of 50 bytes, chunks of 64 to 4096: what an element costs through
// a batch, a slice and a block of an interleave, beside the same elements without (0.3 + 0.6 us);
// and a chunk (90 us). A third more, because work on many threads finds colder caches.
constexpr double kIntoChunk_s = 0.4e-6;
constexpr double kOutOfChunk_s = 0.8e-6;
constexpr double kOpenChunk_s = 120e-6;
constexpr double kCopy_bytes_per_s = 4e9;
constexpr double kLeastOfWork = 0.25;  // of a map and batch, the function's

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

void become_rebatch(Moved& moved, NodeId batch) {
  constexpr double kSlice_s = 2e-6;
  Node& node = moved.pipeline[batch];
  node.op = "RebatchDatasetV2";
  NodeCost& cost = moved.analysis.costs.nodes[batch];
  const NodeId unbatch = node.inputs.front();
  const NodeId source = moved.pipeline[unbatch].inputs.front();
  const double slices = moved.analysis.costs.nodes[source].elements + cost.elements;
  const double copies_s =
      cost.elements * moved.analysis.nodes[batch].bytes_per_element / kCopy_bytes_per_s;
  const double work_s = std::min(cost.work_s, slices * kSlice_s * node.components + copies_s);
  cost.cpu_s = std::min(cost.cpu_s, work_s);
  cost.work_s = work_s;
}

namespace {

NewNode map_of(const Moved& moved, NodeId fused) {
  const Node& both = moved.pipeline[fused];
  NewNode map = node_over(moved, both.inputs.front(), "ParallelMapDatasetV2", 1);
  const NodeAnalysis& was = moved.analysis.nodes[fused];
  const NodeCost& cost = moved.analysis.costs.nodes[fused];
  const double rows = cost.elements > 0 ? map.cost.elements / cost.elements : 0;
  map.node.name = unfused_map_name(both.name);
  map.node.made_above = both.name;
  map.node.inputs = {both.inputs.front()};
  map.node.unfused = true;
  map.node.function = both.function;
  map.node.other_functions = both.other_functions;
  map.node.parallelism = both.parallelism;
  map.node.traced_parallelism = both.traced_parallelism;
  map.node.autotuned = both.autotuned;
  map.node.components = both.components;
  map.node.equal_shapes = both.equal_rows;
  map.node.plain_tensors = both.plain_tensors;
  map.node.scalars_known = both.scalars_known;
  map.setting = moved.analysis.setting[fused];
  map.analysis.parallelism = was.parallelism;
  map.analysis.autotuned = was.autotuned;
  map.analysis.below_cache = was.below_cache;
  map.analysis.elements = was.elements * rows;
  map.analysis.calls = map.cost.calls = cost.calls;
  map.analysis.bytes_per_element = rows > 0 ? was.bytes_per_element / rows : 0;
  map.cost.least_s = cost.least_s;
  map.cost.python = cost.python;
  map.cost.work_clamped = cost.work_clamped;
  return map;
}

// What was measured as one: copying is as built in, the rest is the function's.
void share_work(NewNode& map, NodeCost& batch, double batch_bytes) {
  const double copies_s = batch.elements * batch_bytes / kCopy_bytes_per_s;
  const double work_s =
      std::max({map.cost.least_s, kLeastOfWork * batch.work_s, batch.work_s - copies_s});
  const double cpu_share = batch.work_s > 0 ? batch.cpu_s / batch.work_s : 0;
  map.cost.work_s = std::min(work_s, batch.work_s);
  map.cost.cpu_s = map.analysis.demand_s = map.cost.work_s * cpu_share;
  batch.work_s = batch.cpu_s = copies_s + map.cost.elements * kIntoChunk_s * map.node.components;
}

void leave_batch(Node& both) {
  both.op = "BatchDatasetV2";
  both.kind = op_traits(both.op).kind;
  both.threading = op_traits(both.op).threading;
  both.function.reset();
  both.other_functions.clear();
  both.parallelism.reset();
  both.traced_parallelism.reset();
  both.autotuned = false;
}

}  // namespace

NodeId take_map_out(Moved& moved, NodeId fused) {
  NewNode map = map_of(moved, fused);
  const std::string name = map.node.name;
  Analysis& a = moved.analysis;
  NodeCost& cost = a.costs.nodes[fused];
  share_work(map, cost, a.nodes[fused].bytes_per_element);
  cost.calls = cost.least_s = 0;
  cost.python = cost.work_clamped = false;
  a.nodes[fused].demand_s = cost.cpu_s;
  a.nodes[fused].calls = 0;
  a.nodes[fused].parallelism = 1;
  a.nodes[fused].autotuned = false;
  a.setting[fused] = {};
  leave_batch(moved.pipeline[fused]);
  const NodeId source = moved.pipeline[fused].inputs.front();
  const NodeId made = add_node(moved, std::move(map));
  moved.pipeline[fused].inputs.front() = made;
  reindex(moved, put_after(all_of(moved.pipeline), made, source));
  return *find_node(moved.pipeline, name);
}

}  // namespace plumber
