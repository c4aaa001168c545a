// SPDX-License-Identifier: Apache-2.0
// Who reads whom: the two walks over a pipeline that more than one module needs.
#pragma once

#include <vector>

#include "pipeline/pipeline.h"

namespace plumber {

/// The nodes that read each node: as an input, or as what their function makes.
PerNode<std::vector<NodeId>> consumers_of(const Pipeline& pipeline);

/// These nodes and all that lies below them, data sets of functions too, each once.
std::vector<NodeId> all_below(const Pipeline& pipeline, std::vector<NodeId> from);

}  // namespace plumber
