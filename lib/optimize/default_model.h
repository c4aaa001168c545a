// SPDX-License-Identifier: Apache-2.0
// The default model (design §4) as a whole: the best plan, what it promises, what it rejects, what
// more resources would bring; or the cheapest limits that reach a target rate.
#pragma once

#include "optimize/optimize.h"

namespace plumber {

OptimizeResult optimize_by_default_model(const Pipeline& pipeline, const Analysis& analysis,
                                         const OptimizeOptions& options);

}  // namespace plumber
