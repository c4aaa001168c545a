// SPDX-License-Identifier: Apache-2.0
#include "optimize/optimize.h"

#include <cmath>

#include "optimize/cache_files.h"
#include "optimize/default_model.h"
#include "optimize/finished_plan.h"
#include "optimize/paper_plan.h"

namespace plumber {
namespace {

/// Nothing can be chosen, and why.
OptimizeResult nothing_planned(const OptimizeOptions& options, const std::string& why) {
  OptimizeResult result;
  result.model = options.model;
  result.limits = options.limits;
  result.predicted.why = why;
  result.warnings.push_back("nothing was measured, so there is nothing to optimise by");
  return result;
}

bool is_usable(const NodeCost& cost, const NodeAnalysis& node) {
  for (const double value : {cost.work_s, cost.cpu_s, cost.calls, cost.elements, cost.disk_bytes,
                             node.bytes_per_element}) {
    if (!std::isfinite(value) || value < 0) return false;
  }
  return true;
}

/// Why the trace's numbers cannot be optimised by; empty if they can.
std::string why_unusable(const Pipeline& pipeline, const Analysis& analysis) {
  bool measured = false;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const NodeCost& cost = analysis.costs.nodes[id];
    if (!is_usable(cost, analysis.nodes[id])) {
      return "the costs of " + pipeline[id].name + " are no numbers";
    }
    measured = measured || cost.work_s > 0 || cost.cpu_s > 0;
  }
  return measured ? "" : "the trace has no counters";
}

OptimizeResult solve_model(const Pipeline& pipeline, const Analysis& analysis,
                           const OptimizeOptions& options) {
  const std::string why = why_unusable(pipeline, analysis);
  if (!why.empty()) return nothing_planned(options, why);
  switch (options.model) {
    case ModelKind::kDefault:
      return optimize_by_default_model(pipeline, analysis, options);
    case ModelKind::kPaper:
      return optimize_by_paper_model(pipeline, analysis, options);
  }
  return {};
}

}  // namespace

OptimizeResult optimize(const Pipeline& pipeline, const Analysis& analysis,
                        const OptimizeOptions& options) {
  OptimizeResult result = solve_model(pipeline, analysis, options);
  // What is wrong with the trace is wrong with the plan too.
  result.warnings.insert(result.warnings.begin(), analysis.warnings.begin(),
                         analysis.warnings.end());
  if (!result.predicted.first_epoch_per_s && result.predicted.after_per_s > 0)
    result.warnings.push_back(
        "a cache was full before the trace began: the first epoch, which fills it, is unknown, and "
        "nothing below the cache is changed");
  for (const Permission permission : options.permissions) {
    result.permissions.push_back(permission_word(permission));
  }
  result.plan.graph_fingerprint = pipeline.graph_fingerprint;
  if (result.status != PlanStatus::kInfeasible) add_housekeeping(pipeline, result.plan);
  name_cache_files(pipeline, result.plan);
  if (const std::string advice = cache_file_advice(result.plan); !advice.empty())
    result.warnings.push_back(advice);
  number_edits(pipeline, result.plan);
  return result;
}

}  // namespace plumber
