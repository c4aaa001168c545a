// SPDX-License-Identifier: Apache-2.0
// The limits with which a target rate is reached: the fewest cores, or with prices the cheapest
// cores, memory and disk; and what stops a target that nothing reaches.
#pragma once

#include <optional>
#include <string>

#include "optimize/best_plan.h"

namespace plumber {

struct TargetLimits {
  Limits limits;
  bool reached = false;
  std::optional<double> unchanged_cores;  // on which stock TensorFlow reaches it
  std::optional<Provision> provision;
};

/// `options` has a target.
TargetLimits limits_for_target(const Pipeline& pipeline, const Analysis& analysis,
                               const OptimizeOptions& options);

/// The cheapest plan that reaches the target; the fastest one if none does.
BestPlan plan_for_target(const Problem& problem, double rate_per_s);

/// Why the target is missed, where `result` is the best within the limits.
std::string what_stops(const Problem& problem, const OptimizeResult& result);

}  // namespace plumber
