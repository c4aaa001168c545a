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
  std::optional<Provision> provision;
};

/// True if some plan within the limits of the problem reaches the rate.
bool plan_reaches(const Problem& problem, double rate_per_s);

/// Fewest cores on which stock TensorFlow reaches the target of the options; nullopt: not within
/// the limits.
std::optional<double> unchanged_cores(const Pipeline& pipeline, const Analysis& analysis,
                                      const OptimizeOptions& options);

/// `options` has a target.
TargetLimits limits_for_target(const Pipeline& pipeline, const Analysis& analysis,
                               const OptimizeOptions& options);

/// The cheapest plan that reaches the target; the fastest one if none does.
BestPlan plan_for_target(const Problem& problem, double rate_per_s);

/// Why the target is missed, where so much is the most within the limits and this bound is why; and
/// the budget that would do, if one does.
std::string what_stops(const Problem& problem, double most_per_s,
                       const std::optional<Bound>& bound);

}  // namespace plumber
