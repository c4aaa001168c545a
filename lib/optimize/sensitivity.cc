// SPDX-License-Identifier: Apache-2.0
#include "optimize/sensitivity.h"

#include <algorithm>
#include <vector>

#include "optimize/best_plan.h"

namespace plumber {
namespace {

constexpr double kError = 0.2;
constexpr std::size_t kMostNodes = 16;  // with most work: the others hardly matter

std::vector<NodeId> with_most_work(const Problem& problem, const Setting& setting) {
  const PerNode<bool> active = active_nodes(*problem.pipeline, setting);
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (active[id] && problem.cost(id).work_s > 0) nodes.push_back(id);
  }
  std::ranges::stable_sort(
      nodes, [&](NodeId a, NodeId b) { return problem.cost(a).work_s > problem.cost(b).work_s; });
  nodes.resize(std::min(nodes.size(), kMostNodes));
  return nodes;
}

}  // namespace

void scale_work(Problem& problem, NodeId id, double factor) {
  for (Costs* costs : {&problem.costs, &problem.untuned}) {
    costs->nodes[id].work_s *= factor;
    costs->nodes[id].cpu_s *= factor;
  }
}

Sensitivity sensitivity(const Problem& problem, const Settled& settled) {
  Sensitivity result;
  result.error = kError;
  result.low_per_s = result.high_per_s = rate_of(problem, settled);
  Problem changed = problem;
  for (const NodeId id : with_most_work(problem, settled.setting)) {
    scale_work(changed, id, 1 + kError);
    const double low = rate_of(changed, settled);
    scale_work(changed, id, (1 - kError) / (1 + kError));
    const double high = rate_of(changed, settled);
    changed.costs.nodes[id] = problem.costs.nodes[id];
    changed.untuned.nodes[id] = problem.untuned.nodes[id];
    if (low < result.low_per_s) {
      result.low_per_s = low;
      result.node = problem.node(id).name;
    }
    result.high_per_s = std::max(result.high_per_s, high);
  }
  return result;
}

}  // namespace plumber
