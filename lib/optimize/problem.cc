// SPDX-License-Identifier: Apache-2.0
#include "optimize/problem.h"

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
