// SPDX-License-Identifier: Apache-2.0
#include "optimize/paper_model.h"

#include <algorithm>

#include "lp/write_lp.h"

namespace plumber {
namespace {

constexpr double kSame = 1e-9;  // relative; two bounds that are equal up to rounding both bind

/// True for nodes whose calls run beside each other: their own, or those of a parallel interleave
/// that opens several of them at a time.
PerNode<char> may_exceed_one_core(const Pipeline& pipeline) {
  PerNode<char> result(pipeline.size(), 0);
  for (std::size_t i = pipeline.size(); i-- > 0;) {  // outer nodes stand after their inner ones
    const auto id = static_cast<NodeId>(i);
    const Node& node = pipeline[id];
    const bool own = node.threading == Threading::kParallelCalls ||
                     node.threading == Threading::kParallelInterleave;
    bool inside = false;
    if (node.outer) {
      const Node& outer = pipeline[*node.outer];
      inside = outer.threading == Threading::kParallelInterleave || result[*node.outer] != 0;
    }
    result[id] = own || inside ? 1 : 0;
  }
  return result;
}

double demand(const std::vector<PaperNode>& nodes) {
  double total = 0;
  for (const PaperNode& node : nodes) total += 1 / node.rate_per_core_per_s;
  return total;
}

}  // namespace

std::vector<PaperNode> paper_nodes(const Pipeline& pipeline, const Analysis& analysis) {
  const PerNode<char> parallel = may_exceed_one_core(pipeline);
  std::vector<PaperNode> nodes;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const NodeAnalysis& node = analysis.nodes[id];
    const bool limits = node.rate_per_core_per_s && *node.rate_per_core_per_s > 0;
    const bool replays = pipeline[id].kind == Kind::kCache && analysis.setting[id].cached;
    if (!limits || node.below_cache || replays) continue;
    nodes.push_back({id, *node.rate_per_core_per_s, parallel[id] == 0});
  }
  return nodes;
}

LinearProgram paper_program(const Pipeline& pipeline, const std::vector<PaperNode>& nodes,
                            double cores) {
  LinearProgram program;
  program.name = "the paper's model: root elements per second, cores";
  program.sense = Sense::kMaximise;
  const ColumnId rate = add_column(program, {"rate", 0, kInfinity, 1});
  Row budget{"cores", {}, -kInfinity, cores};
  for (const PaperNode& node : nodes) {
    const std::string& name = pipeline[node.node].name;
    const double most = node.sequential ? std::min(1.0, cores) : cores;
    const ColumnId theta = add_column(program, {"theta:" + name, 0, most});
    add_row(program, {name, {{theta, node.rate_per_core_per_s}, {rate, -1}}, 0, kInfinity});
    budget.terms.push_back({theta, 1});
  }
  add_row(program, budget);
  return program;
}

LpResult paper_optimum(const Pipeline& pipeline, const std::vector<PaperNode>& nodes,
                       double cores) {
  LpResult result;
  if (nodes.empty()) return result;
  const double by_cores = cores / demand(nodes);
  double best = by_cores;
  for (const PaperNode& node : nodes) {
    if (node.sequential) best = std::min(best, node.rate_per_core_per_s);
  }
  result.objective_per_s = best;
  if (by_cores <= best * (1 + kSame)) result.binding.emplace_back("cores");
  for (const PaperNode& node : nodes) {
    result.theta.push_back({node.node, best / node.rate_per_core_per_s});
    if (node.sequential && node.rate_per_core_per_s <= best * (1 + kSame)) {
      result.binding.push_back(pipeline[node.node].name);
    }
  }
  result.program = write_lp(paper_program(pipeline, nodes, cores));
  return result;
}

}  // namespace plumber
