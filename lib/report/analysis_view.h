// SPDX-License-Identifier: Apache-2.0
// What limits the pipeline, as a report: the verdict in one sentence, the bounds, the nodes, the
// memory, and numbered advice. Keys of the JSON are listed in docs/formats.md.
#pragma once

#include "ops/analysis.h"
#include "report/report.h"

namespace plumber {

Report analysis_view(const Pipeline& pipeline, const Analysis& analysis);

}  // namespace plumber
