// SPDX-License-Identifier: Apache-2.0
// State outside of the data set that a serialised program carries as it was at that moment:
// variables, and tables that are filled while the program runs. (A table that an initializer in the
// program fills is the same in each run.)
#pragma once

#include <string>
#include <vector>

#include "pipeline/pipeline.h"

namespace tensorflow {
class GraphDef;
}

namespace plumber {

/// A warning for each node whose functions read such state.
std::vector<std::string> frozen_state(const tensorflow::GraphDef& graph, const Pipeline& pipeline);

}  // namespace plumber
