// SPDX-License-Identifier: Apache-2.0
#include "optimize/paper_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_format.h"
#include "optimize/modes.h"
#include "optimize/paper_model.h"
#include "optimize/problem.h"

namespace plumber {
namespace {

bool sets_calls(const Node& node) {
  const auto changes = mode_changes(node.op);
  return !node.outer && !changes.empty() && !cycle_is_computed(node) &&
         changes.front().edit == EditKind::kSetParallelism;
}

double traced_calls(const Pipeline& pipeline, const Analysis& analysis, NodeId id) {
  const Node& node = pipeline[id];
  if (node.outer) {
    const double inner = analysis.nodes[id].parallelism.value_or(1);
    return std::max(inner, traced_calls(pipeline, analysis, *node.outer));
  }
  return std::max(1.0, analysis.nodes[id].parallelism.value_or(1));
}

void add_parallelism(const Pipeline& pipeline, const LpResult& lp, Plan& plan) {
  for (const Theta& theta : lp.theta) {
    const Node& node = pipeline[theta.node];
    if (!sets_calls(node)) continue;
    const auto calls = static_cast<std::int64_t>(std::max(1.0, std::ceil(theta.cores - 1e-9)));
    if (node.parallelism == calls) continue;
    plan.edits.push_back({"",
                          EditKind::kSetParallelism,
                          node.name,
                          "",
                          calls,
                          fmt::format("the optimum gives it {} core{}", format_number(theta.cores),
                                      theta.cores == 1 ? "" : "s"),
                          {},
                          ""});
  }
}

/// ceil(N* - N); 0 where the trace has as many elements in progress as it needs.
std::int64_t prefetch_elements(const Pipeline& pipeline, const Analysis& analysis,
                               const std::vector<PaperNode>& nodes) {
  if (analysis.elapsed_s <= 0 || nodes.empty()) return 0;
  double latency_s = 0, bottleneck_per_s = kInfinity, node_time_s = 0;
  for (const PaperNode& node : nodes) {
    latency_s += 1 / node.rate_per_core_per_s;
    const double calls = node.sequential ? 1 : traced_calls(pipeline, analysis, node.node);
    bottleneck_per_s = std::min(bottleneck_per_s, node.rate_per_core_per_s * calls);
    const NodeAnalysis& seen = analysis.nodes[node.node];
    node_time_s += seen.elements * seen.service_s;
  }
  const double needed = latency_s * bottleneck_per_s;
  const double present = node_time_s / analysis.elapsed_s;
  return static_cast<std::int64_t>(std::ceil(std::max(0.0, needed - present) - 1e-9));
}

void add_prefetch(const Pipeline& pipeline, const Analysis& analysis,
                  const std::vector<PaperNode>& nodes, Plan& plan) {
  const std::int64_t elements = prefetch_elements(pipeline, analysis, nodes);
  if (elements == 0) return;
  const NodeId root = last_node(pipeline);
  const bool there = pipeline[root].kind == Kind::kPrefetch;
  if (there && pipeline[root].buffer_size == elements) return;
  plan.edits.push_back({"",
                        there ? EditKind::kSetBuffer : EditKind::kInsertPrefetch,
                        pipeline[root].name,
                        "",
                        elements,
                        "elements in progress that the bottleneck needs beyond those of the trace",
                        {},
                        ""});
}

void predict(const Analysis& analysis, const std::vector<PaperNode>& nodes,
             OptimizeResult& result) {
  Predicted& predicted = result.predicted;
  predicted.as_traced_per_s = analysis.rate.observed_per_s;
  predicted.before_per_s = analysis.rate.observed_per_s.value_or(0);
  predicted.after_per_s = result.lp.objective_per_s;
  predicted.first_epoch_per_s = predicted.after_per_s;
  predicted.range_per_s = {0, predicted.after_per_s};
  predicted.upper_bound = true;
  predicted.why = "the paper's model counts CPU time only: no hand-offs, no thread segments";
  if (predicted.before_per_s > 0) {
    predicted.speedup = predicted.after_per_s / predicted.before_per_s;
  }
  if (nodes.empty()) return;
  Bound bound{result.lp.binding.front() == "cores" ? BoundKind::kCpu : BoundKind::kThread,
              {},
              predicted.after_per_s};
  std::vector<PaperNode> order = nodes;
  std::stable_sort(order.begin(), order.end(), [](const PaperNode& a, const PaperNode& b) {
    return a.rate_per_core_per_s < b.rate_per_core_per_s;
  });
  for (const PaperNode& node : order) {
    const bool binds =
        bound.kind == BoundKind::kCpu ||
        (node.sequential && node.rate_per_core_per_s <= bound.bound_per_s * (1 + 1e-9));
    if (binds) bound.nodes.push_back(node.node);
  }
  predicted.bound = bound;
}

}  // namespace

OptimizeResult optimize_by_paper_model(const Pipeline& pipeline, const Analysis& analysis,
                                       const OptimizeOptions& options) {
  OptimizeResult result;
  result.model = ModelKind::kPaper;
  result.limits = options.limits;
  const std::vector<PaperNode> nodes = paper_nodes(pipeline, analysis);
  result.lp = paper_optimum(pipeline, nodes, options.limits.cores);
  result.plan.graph_fingerprint = pipeline.graph_fingerprint;
  add_parallelism(pipeline, result.lp, result.plan);
  add_prefetch(pipeline, analysis, nodes, result.plan);
  if (!result.plan.edits.empty()) result.status = PlanStatus::kOptimal;
  predict(analysis, nodes, result);
  const double richer = paper_optimum(pipeline, nodes, options.limits.cores + 1).objective_per_s;
  result.more.core_gain_per_s = richer - result.lp.objective_per_s;
  const double held_bytes = analysis.memory.held_bytes;
  result.memory = {options.limits.memory_bytes, held_bytes, held_bytes, analysis.memory.items};
  if (held_bytes > options.limits.memory_bytes) {
    result.warnings.push_back(
        fmt::format("the program holds {}, more than the {} it may use: the paper's model does not "
                    "look at memory",
                    format_bytes(held_bytes), format_bytes(options.limits.memory_bytes)));
  }
  if (options.target_rate_per_s && result.lp.objective_per_s < *options.target_rate_per_s) {
    result.status = PlanStatus::kInfeasible;
    result.plan.edits.clear();
    result.warnings.push_back(fmt::format("the target of {} is out of reach; {} is the most",
                                          format_rate(*options.target_rate_per_s),
                                          format_rate(result.lp.objective_per_s)));
  }
  return result;
}

}  // namespace plumber
