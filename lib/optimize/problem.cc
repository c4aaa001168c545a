// SPDX-License-Identifier: Apache-2.0
#include "optimize/problem.h"

#include <utility>

#include "ops/bookkeeping.h"

namespace plumber {

Machine machine_of(const Limits& limits) { return {limits.cores, limits.disks, limits.disk_cache}; }

PerNode<std::vector<NodeId>> consumers_of(const Pipeline& pipeline) {
  PerNode<std::vector<NodeId>> consumers(pipeline.size());
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    for (const NodeId input : pipeline[id].inputs) consumers[input].push_back(id);
    for (const NodeId inner : pipeline[id].inner) consumers[inner].push_back(id);
  }
  return consumers;
}

std::vector<NodeId> all_below(const Pipeline& pipeline, std::vector<NodeId> from) {
  PerNode<char> seen(pipeline.size(), 0);
  std::vector<NodeId> below;
  while (!from.empty()) {
    const NodeId at = from.back();
    from.pop_back();
    if (std::exchange(seen[at], 1) != 0) continue;
    below.push_back(at);
    for (const NodeId input : pipeline[at].inputs) from.push_back(input);
    for (const NodeId inner : pipeline[at].inner) from.push_back(inner);
  }
  return below;
}

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
