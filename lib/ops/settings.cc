// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/cost_model.h"

namespace plumber {

bool calls_a_function(const Node& node) {
  if (!node.function || node.function->facts.short_circuit) return false;
  switch (node.kind) {
    case Kind::kMap:
    case Kind::kMapBatch:
    case Kind::kFilter:
    case Kind::kFlatMap:
    case Kind::kInterleave:
    case Kind::kScan:
    case Kind::kTakeWhile:
    case Kind::kGroup:
    case Kind::kMemorySource:  // a generator
      return true;
    default:
      return false;
  }
}

namespace {

bool is_parallel_op(const Node& node) {
  return node.threading == Threading::kParallelCalls ||
         node.threading == Threading::kParallelInterleave;
}

NodeSetting as_written(const Node& node) {
  NodeSetting s;
  if (is_parallel_op(node)) {
    s.mode = !node.inter_op     ? Mode::kParallelInline
             : node.own_threads ? Mode::kParallelUnbounded
                                : Mode::kParallel;
    s.parallelism = std::max(1.0, static_cast<double>(node.parallelism.value_or(1)));
    // A legacy parallel interleave reads all its open files at once.
    if (!node.parallelism && node.cycle_length && *node.cycle_length > 0)
      s.parallelism = static_cast<double>(*node.cycle_length);
  } else if (calls_a_function(node)) {
    s.mode = node.inter_op ? Mode::kDispatched : Mode::kInline;
  }
  s.cached = node.kind == Kind::kCache;
  return s;
}

// TensorFlow parallelises maps whose function it believes to be free of state, in the main program
// but not in the data sets that functions make.
bool stock_parallelises(const Node& node) {
  if (node.op != "MapDataset" || !node.function || node.outer) return false;
  const FunctionFacts& f = node.function->facts;
  return f.random.empty() && f.stateful.empty() && f.python.empty() && !f.short_circuit;
}

}  // namespace

Setting traced_setting(const Pipeline& pipeline) {
  Setting setting(pipeline.size());
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const Node& node = pipeline.nodes[i];
    NodeSetting s = as_written(node);
    if (node.traced_parallelism && *node.traced_parallelism >= 1) {
      const bool ran_parallel = is_parallel(s.mode);
      // Dialect model: a plain map with calls in flight was parallelised by TensorFlow. Dialect
      // opstats reports open readers as parallelism, which is the interleave's, not the reader's.
      if (!ran_parallel && pipeline.dialect == Dialect::kModel && node.kind == Kind::kMap)
        s.mode = Mode::kParallel;
      if (ran_parallel || s.mode == Mode::kParallel) s.parallelism = *node.traced_parallelism;
    }
    setting[static_cast<NodeId>(i)] = s;
  }
  return setting;
}

Setting stock_setting(const Pipeline& pipeline, const Machine& machine) {
  const double cores = std::max(1.0, machine.cores);
  Setting setting(pipeline.size());
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const Node& node = pipeline.nodes[i];
    NodeSetting s = as_written(node);
    if (node.parallelism == kAutotune) s.parallelism = cores;
    if (pipeline.options.parallelises_maps && stock_parallelises(node))
      s = {Mode::kParallel, cores, false, false};
    setting[static_cast<NodeId>(i)] = s;
  }
  NodeId root = pipeline.root;
  while (pipeline[root].kind == Kind::kWrapper && !pipeline[root].inputs.empty())
    root = pipeline[root].inputs.front();
  const bool bare = !is_boundary(pipeline[root], setting[root]);
  if (bare && pipeline.options.injects_prefetch) setting[root].prefetch_above = true;
  return setting;
}

bool is_parallel(Mode mode) {
  return mode == Mode::kParallel || mode == Mode::kParallelInline ||
         mode == Mode::kParallelUnbounded;
}

bool copies_little(const Node& node, const NodeCost& cost) {
  return !node.function && cost.work_s < kShortCall_s * cost.elements;
}

double readers_at_once(const Node& node, const NodeSetting& setting) {
  double threads = setting.parallelism;
  if (node.cycle_length && *node.cycle_length > 0)
    threads = std::min(threads, static_cast<double>(*node.cycle_length));
  return std::max(1.0, threads);
}

bool is_boundary(const Node& node, const NodeSetting& setting) {
  return node.kind == Kind::kPrefetch || is_parallel(setting.mode);
}

PerNode<bool> active_nodes(const Pipeline& pipeline, const Setting& setting) {
  PerNode<bool> active(pipeline.size(), false);
  active[pipeline.root] = true;
  for (std::size_t i = pipeline.size(); i-- > 0;) {
    const auto n = static_cast<NodeId>(i);
    if (!active[n] || setting[n].cached) continue;
    for (const NodeId input : pipeline[n].inputs) active[input] = true;
    for (const NodeId inner : pipeline[n].inner) active[inner] = true;
  }
  return active;
}

}  // namespace plumber
