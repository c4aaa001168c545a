// SPDX-License-Identifier: Apache-2.0
#include "optimize/problem.h"

#include <algorithm>

#include "ops/bookkeeping.h"

namespace plumber {

Machine machine_of(const Limits& limits) { return {limits.cores, limits.disks, limits.disk_cache}; }

namespace {

void set_file_bytes(const Pipeline& pipeline, const Analysis& analysis, Costs& costs) {
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    NodeCost& cost = costs.nodes[id];
    cost.file_cache_bytes = file_cache_bytes({cost.elements, pipeline[id].components},
                                             analysis.nodes[id].bytes_per_element);
  }
}

// What a core copies out of tensors into a batch when it does nothing else; measured on 2 cores
// with elements of 200 to 300 kB. A parallel batch copies in closures whose time TensorFlow counts
// for no node, and a large batch is copied by threads of the pool beside the one that is counted.
constexpr double kCopy_bytes_per_s = 17e9;

void count_copies(const Pipeline& pipeline, const Analysis& analysis, Costs& costs) {
  if (!costs.hand_off_known) return;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!is_plain_batch(pipeline[id].op)) continue;
    NodeCost& cost = costs.nodes[id];
    const double copy_s = cost.elements * analysis.nodes[id].bytes_per_element / kCopy_bytes_per_s;
    cost.work_s = std::max(cost.work_s, copy_s);
    cost.cpu_s = std::max(cost.cpu_s, copy_s);
  }
}

}  // namespace

Problem make_problem(const Pipeline& pipeline, const Analysis& analysis,
                     const OptimizeOptions& options, const Machine& machine) {
  Problem problem{&pipeline,
                  &analysis,
                  &options,
                  machine,
                  {},
                  {},
                  stock_setting(pipeline, machine),
                  consumers_of(pipeline),
                  {}};
  Costs costs = analysis.costs;
  set_file_bytes(pipeline, analysis, costs);
  count_copies(pipeline, analysis, costs);
  problem.untuned = without_bookkeeping(costs);
  problem.costs = pipeline.options.autotune ? std::move(costs) : problem.untuned;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    problem.by_name.emplace(pipeline[id].name, id);
  }
  return problem;
}

Evaluation evaluate(const Problem& problem, const Setting& setting) {
  return evaluate(*problem.pipeline, problem.costs, setting, problem.machine);
}

NodeId last_node(const Pipeline& pipeline) {
  NodeId id = pipeline.root;
  while (pipeline[id].kind == Kind::kWrapper && !pipeline[id].inputs.empty()) {
    id = pipeline[id].inputs.front();
  }
  return id;
}

bool never_ran(const Pipeline& pipeline, const Analysis& analysis, NodeId id) {
  const NodeAnalysis& node = analysis.nodes[id];
  return node.below_cache && !(node.elements > 0) && pipeline[id].kind != Kind::kWrapper;
}

bool never_ran(const Problem& problem, NodeId id) {
  return never_ran(*problem.pipeline, *problem.analysis, id);
}

Setting unfilled(const Problem& problem, Setting setting) {
  for (std::size_t i = 0; i < problem.pipeline->size(); ++i) {
    setting[static_cast<NodeId>(i)].cached = false;
  }
  return setting;
}

}  // namespace plumber
