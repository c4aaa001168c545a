// SPDX-License-Identifier: Apache-2.0
#include "optimize/problem.h"

#include "ops/bookkeeping.h"

namespace plumber {

Machine machine_of(const Limits& limits) { return {limits.cores, limits.disks}; }

Problem make_problem(const Pipeline& pipeline, const Analysis& analysis,
                     const OptimizeOptions& options, const Machine& machine) {
  Problem problem{&pipeline,
                  &analysis,
                  &options,
                  machine,
                  {},
                  without_bookkeeping(analysis.costs),
                  stock_setting(pipeline, machine),
                  PerNode<std::vector<NodeId>>(pipeline.size()),
                  {}};
  problem.costs = pipeline.options.autotune ? analysis.costs : problem.untuned;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    problem.by_name.emplace(pipeline[id].name, id);
    for (const NodeId input : pipeline[id].inputs) problem.consumers[input].push_back(id);
    for (const NodeId inner : pipeline[id].inner) problem.consumers[inner].push_back(id);
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

bool never_ran(const Problem& problem, NodeId id) {
  const NodeAnalysis& node = problem.analysis->nodes[id];
  return node.below_cache && !(node.elements > 0) && problem.node(id).kind != Kind::kWrapper;
}

Setting unfilled(const Problem& problem, Setting setting) {
  for (std::size_t i = 0; i < problem.pipeline->size(); ++i) {
    setting[static_cast<NodeId>(i)].cached = false;
  }
  return setting;
}

}  // namespace plumber
