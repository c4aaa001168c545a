// SPDX-License-Identifier: Apache-2.0
// Joins counters to nodes. Dialect opstats: by name. Dialect model: both trees are walked from the
// root at once, TensorFlow's default rewrites undone (design §2); several iterators may stand for
// one node (each epoch, each file) and their counts add up. What does not align is listed.
#pragma once

#include "pipeline/pipeline.h"

namespace plumber {

/// Fills pipeline.dumps, the nodes' traced values, and pipeline.unaligned.
void align_counters(const Trace& trace, Pipeline& pipeline);

/// One dump of the opstats dialect.
void align_op_counters(const Dump& dump, Pipeline& pipeline, PerNode<Counters>& counters);

/// One dump of the model dialect. Traced values of the nodes are overwritten: the last dump wins.
void align_model(const Dump& dump, Pipeline& pipeline, PipelineDump& out);

}  // namespace plumber
