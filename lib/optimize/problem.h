// SPDX-License-Identifier: Apache-2.0
// What the default model decides about: the pipeline with its costs, the machine that the plan may
// use, and how stock TensorFlow would run the program if nothing were changed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/analysis.h"
#include "optimize/optimize.h"
#include "pipeline/below.h"

namespace plumber {

struct Problem {
  const Pipeline* pipeline = nullptr;
  const Analysis* analysis = nullptr;
  const OptimizeOptions* options = nullptr;
  Machine machine;
  Costs costs;    // of the program under its own options
  Costs untuned;  // the same where AUTOTUNE is switched off
  Setting stock;  // the program as it is, under TensorFlow's default rewrites
  PerNode<std::vector<NodeId>> consumers;
  std::map<std::string, NodeId> by_name;

  const Node& node(NodeId id) const { return (*pipeline)[id]; }
  const NodeCost& cost(NodeId id) const { return costs.nodes[id]; }
};

/// The machine of these limits.
Machine machine_of(const Limits& limits);

Problem make_problem(const Pipeline& pipeline, const Analysis& analysis,
                     const OptimizeOptions& options, const Machine& machine);

/// Seconds per root element under a setting.
Evaluation evaluate(const Problem& problem, const Setting& setting);

/// The node below the wrappers at the root: the last one that runs.
NodeId last_node(const Pipeline& pipeline);

/// True if the node lies below a cache that was full before the trace began: its costs are unknown.
bool never_ran(const Pipeline& pipeline, const Analysis& analysis, NodeId id);
bool never_ran(const Problem& problem, NodeId id);

/// The same setting before any cache is filled.
Setting unfilled(const Problem& problem, Setting setting);

}  // namespace plumber
