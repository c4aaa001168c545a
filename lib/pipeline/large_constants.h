// SPDX-License-Identifier: Apache-2.0
// Data that stands in the program itself: from_tensor_slices(array), arrays that functions capture.
#pragma once

#include <vector>

#include "pipeline/pipeline.h"
#include "trace/trace.h"

namespace plumber {

/// Constants of 1 MiB or more of the main graph and its functions.
std::vector<LargeConstant> large_constants(const tensorflow::GraphDef& graph);

}  // namespace plumber
