// SPDX-License-Identifier: Apache-2.0
// A plan, as a report: what to expect in one sentence, the numbered changes with reason, gain and
// the line of Python, the memory, the cores of each node, what more would bring, and what was
// rejected. Its JSON is the plan file that `plumber rewrite` reads (docs/formats.md).
#pragma once

#include "optimize/optimize.h"
#include "report/report.h"

namespace plumber {

Report plan_view(const Pipeline& pipeline, const OptimizeResult& result);

}  // namespace plumber
