// SPDX-License-Identifier: Apache-2.0
// Pipelines with known costs, written by hand for tests of the optimiser: a chain of calls, source
// first, with costs per root element in milliseconds.
//
//   SmallPipeline p;
//   const NodeId files = p.source("TFRecordDataset", {.work_ms = 1});
//   const NodeId map = p.map(files, "_decode", {.work_ms = 8, .calls = 16});
//   p.finish(p.batch(map, 16));
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ops/analysis.h"
#include "ops/hand_off.h"
#include "optimize/optimize.h"
#include "pipeline/pipeline.h"

namespace plumber {

struct NodeNumbers {
  double work_ms = 0;
  double calls = 0;
  double elements = 1;
  double bytes = 1000;      // per element
  double per_epoch = 1000;  // elements
};

inline OptimizeOptions within(double cores, double memory_bytes) {
  OptimizeOptions options;
  options.limits.cores = cores;
  options.limits.memory_bytes = memory_bytes;
  return options;
}

class SmallPipeline {
 public:
  Pipeline pipeline;
  Analysis analysis;

  SmallPipeline() {
    analysis.costs.hand_off_known = true;
    pipeline.dialect = Dialect::kModel;
    pipeline.graph_fingerprint = "test";
    pipeline.machine.cores = 64;
  }

  /// Node times hold everything, and nothing is added for handing over (dialect opstats).
  void without_hand_off() {
    analysis.costs.hand_off = no_hand_off();
    analysis.costs.hand_off_known = false;
    pipeline.dialect = Dialect::kOpstats;
  }

  NodeId add(const std::string& op, std::vector<NodeId> inputs, const NodeNumbers& numbers) {
    const OpTraits& traits = op_traits(op);
    Node node;
    node.op = op;
    node.name = op + "/_" + std::to_string(pipeline.size());
    node.kind = traits.kind;
    node.threading = traits.threading;
    node.inputs = std::move(inputs);
    node.aligned = true;
    pipeline.nodes.push_back(node);
    add_numbers(numbers);
    return static_cast<NodeId>(pipeline.size() - 1);
  }

  NodeId source(const std::string& op, const NodeNumbers& numbers) { return add(op, {}, numbers); }

  NodeId map(NodeId input, const std::string& function, const NodeNumbers& numbers) {
    return with_function(add("MapDataset", {input}, numbers), function);
  }

  NodeId parallel_map(NodeId input, const std::string& function, std::int64_t calls,
                      const NodeNumbers& numbers) {
    const NodeId id = with_function(add("ParallelMapDatasetV2", {input}, numbers), function);
    pipeline[id].parallelism = calls;
    return id;
  }

  NodeId batch(NodeId input, std::int64_t size, const NodeNumbers& numbers = {}) {
    const NodeId id = add("BatchDatasetV2", {input}, numbers);
    pipeline[id].count = size;
    return id;
  }

  NodeId prefetch(NodeId input, std::int64_t buffer, const NodeNumbers& numbers = {}) {
    const NodeId id = add("PrefetchDataset", {input}, numbers);
    pipeline[id].buffer_size = buffer;
    return id;
  }

  NodeId with_function(NodeId id, const std::string& function) {
    pipeline[id].function = Function{"__inference_" + function, function, {}};
    pipeline[id].function->facts.ops = 5;
    return id;
  }

  /// A map that TensorFlow itself does not parallelise.
  NodeId random(NodeId id) {
    pipeline[id].function->facts.random = {"RandomUniform"};
    return id;
  }

  /// Lets a cache stand above the node.
  void may_cache(NodeId id) {
    analysis.nodes[id].cache = {CacheClass::kExact, true, "", "", false};
  }

  void finish(NodeId root) {
    pipeline.root = root;
    resize(analysis.costs.nodes, pipeline.size());
    resize(analysis.nodes, pipeline.size());
    analysis.setting = PerNode<NodeSetting>(pipeline.size());
  }

 private:
  void add_numbers(const NodeNumbers& numbers) {
    NodeCost cost;
    cost.work_s = cost.cpu_s = numbers.work_ms * 1e-3;
    cost.calls = numbers.calls;
    cost.elements = numbers.elements;
    append(analysis.costs.nodes, cost);
    NodeAnalysis node;
    node.visit_ratio = numbers.elements;
    node.demand_s = cost.cpu_s;
    if (cost.cpu_s > 0) node.rate_per_core_per_s = 1 / cost.cpu_s;
    node.bytes_per_element = numbers.bytes;
    node.parallelism = 1;
    node.elements_per_epoch = {Cardinality::Kind::kKnown, numbers.per_epoch};
    node.materialized_bytes = numbers.bytes * numbers.per_epoch;
    node.cache.reason = "not in this test";
    append(analysis.nodes, node);
  }

  /// Room for more values than there are nodes yet: PerNode does not grow, and copying it for each
  /// node would be quadratic. finish() takes the rest away.
  template <class T>
  void append(PerNode<T>& values, const T& value) {
    const std::size_t node = pipeline.size() - 1;
    if (node >= values.size()) resize(values, 2 * node + 8);
    values[static_cast<NodeId>(node)] = value;
  }

  template <class T>
  static void resize(PerNode<T>& values, std::size_t size) {
    PerNode<T> resized(size);
    for (std::size_t i = 0; i < std::min(size, values.size()); ++i) {
      resized[static_cast<NodeId>(i)] = values[static_cast<NodeId>(i)];
    }
    values = std::move(resized);
  }
};

/// Reading, a parallel map with one call in flight, a batch, a prefetch.
inline SmallPipeline training() {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 1, .elements = 16});
  const NodeId map = p.random(p.parallel_map(
      files, "_parse", 1, {.work_ms = 16, .calls = 16, .elements = 16, .bytes = 6e5}));
  p.finish(p.prefetch(p.batch(map, 16, {.work_ms = 1, .bytes = 9.6e6}), 2));
  p.pipeline.machine.cores = 2;
  return p;
}

}  // namespace plumber
