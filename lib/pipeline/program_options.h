// SPDX-License-Identifier: Apache-2.0
// What the tf.data.Options in a program's graph say. TensorFlow merges all of them, the upper ones
// win; nodes stand source first, so the last one does.
#pragma once

#include <string>
#include <vector>

#include "pipeline/pipeline.h"
#include "trace/trace.h"

namespace plumber {

/// Options.deterministic decides for the parallel ops that leave it to the options.
void apply_determinism(const tensorflow::GraphDef& graph, Pipeline& pipeline);

/// Fields that the prototype recorder set, whose traces have its own Options in their graphs and no
/// field 101: they are to be dropped.
std::vector<std::string> recorder_options(const Trace& trace);

/// The user's Options; those of a tracer that stand in the graph do not count.
ProgramOptions program_options(const tensorflow::GraphDef& graph, bool has_tracers_options);

}  // namespace plumber
