// SPDX-License-Identifier: Apache-2.0
// What the program says about one dataset node: its scalars, files, flags.
#pragma once

#include "pipeline/graph_scope.h"
#include "pipeline/pipeline.h"

namespace plumber {

/// Fills the node's fields that stand in the program itself (kind, scalars, file names, flags).
void read_attributes(const GraphScope& scope, const tensorflow::NodeDef& def, Node& node);

}  // namespace plumber
