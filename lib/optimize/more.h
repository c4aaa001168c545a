// SPDX-License-Identifier: Apache-2.0
// What more resources would bring, found by solving again: one more core; the next step of memory
// that changes the plan; a disk without limit.
#pragma once

#include "optimize/best_plan.h"

namespace plumber {

void add_more_resources(const Problem& problem, const BestPlan& plan, MoreResources& more);

}  // namespace plumber
