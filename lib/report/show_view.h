// SPDX-License-Identifier: Apache-2.0
// What a trace holds, decoded and not judged: the program as a tree (consumer first; an input of
// several, or a data set that a function makes, stands one step to the right), the functions with
// the facts that later decide about caches and execution, the dumps, the machine, the recorder.
#pragma once

#include "pipeline/pipeline.h"
#include "report/report.h"

namespace plumber {

Report show_view(const Trace& trace, const Pipeline& pipeline);

}  // namespace plumber
