// SPDX-License-Identifier: Apache-2.0
// A data set that is used twice above a shuffle is written out as two shuffles with one generator
// of seeds. Read back, each of them draws for itself: what was the same order twice is so no
// longer, and elements of a split are lost or doubled, whatever a plan does.
#pragma once

#include <string>
#include <vector>

#include "graph.pb.h"

namespace plumber {

/// One sentence for each generator that several shuffles share.
std::vector<std::string> shared_seed_generators(const tensorflow::GraphDef& graph);

}  // namespace plumber
