// SPDX-License-Identifier: Apache-2.0
// The edits of the paper's model: ceil(theta) calls in flight, and a prefetch of ceil(N* - N)
// elements, where N* = R_min / (1 / bottleneck rate) is the number of root elements in progress
// that the bottleneck as traced needs (R_min: service time of one root element through all nodes)
// and N = node time / elapsed time is what the trace shows (Plumber, section 4.2 and appendix).
#pragma once

#include "optimize/optimize.h"

namespace plumber {

OptimizeResult optimize_by_paper_model(const Pipeline& pipeline, const Analysis& analysis,
                                       const OptimizeOptions& options);

}  // namespace plumber
