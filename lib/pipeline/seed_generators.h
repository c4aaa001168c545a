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

/// One sentence for each shuffle with a seed that shuffles each epoch anew: its generator is not
/// part of the program, and the one made on reading it draws another sequence, the same one in each
/// run.
std::vector<std::string> seeded_reshuffles(const tensorflow::GraphDef& graph);

}  // namespace plumber
