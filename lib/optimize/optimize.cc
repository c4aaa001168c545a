// SPDX-License-Identifier: Apache-2.0
#include "optimize/optimize.h"

#include "optimize/default_model.h"
#include "optimize/paper_plan.h"
#include "optimize/plan_builder.h"

namespace plumber {
namespace {

/// Nothing was measured, so nothing can be chosen.
OptimizeResult nothing_measured(const OptimizeOptions& options) {
  OptimizeResult result;
  result.model = options.model;
  result.limits = options.limits;
  result.predicted.why = "the trace has no counters";
  result.warnings.emplace_back("nothing was measured, so there is nothing to optimise by");
  return result;
}

bool is_measured(const Analysis& analysis) {
  for (const NodeCost& cost : analysis.costs.nodes) {
    if (cost.work_s > 0 || cost.cpu_s > 0) return true;
  }
  return false;
}

OptimizeResult solve_model(const Pipeline& pipeline, const Analysis& analysis,
                           const OptimizeOptions& options) {
  if (!is_measured(analysis)) return nothing_measured(options);
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
  for (const Permission permission : options.permissions) {
    result.permissions.push_back(permission_word(permission));
  }
  result.plan.graph_fingerprint = pipeline.graph_fingerprint;
  if (result.status != PlanStatus::kInfeasible) add_housekeeping(pipeline, result.plan);
  number_edits(pipeline, result.plan);
  return result;
}

}  // namespace plumber
