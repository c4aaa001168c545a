// SPDX-License-Identifier: Apache-2.0
// Why what could have been changed was not (design §1: nothing unexplained): what the rules forbid,
// and what would have brought nothing.
#pragma once

#include "optimize/best_plan.h"

namespace plumber {

std::vector<Rejected> rejected_edits(const Problem& problem, const BestPlan& plan);

}  // namespace plumber
