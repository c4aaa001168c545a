// SPDX-License-Identifier: Apache-2.0
// A map and the batch right above it, of which TensorFlow makes one op by default, where a node
// ignores errors. With a failing element that op drops its whole batch; two ops drop what the batch
// had taken so far, and the next one begins behind it. So the two have to stay as they are: no
// inline map (for which fusing is switched off), no calls on threads of their own (which TensorFlow
// does not fuse), no parallel batch, nothing between.
#pragma once

#include <string>

#include "optimize/choices.h"

namespace plumber {

/// Why a move may not leave this pipeline: it makes such a pair of what was none. Empty: it may.
std::string why_no_new_pair(const Pipeline& moved);

/// Why this map and the batch above it may not be parted; empty: they may.
std::string why_pair_stays(const Problem& problem, NodeId id);

/// Takes back the choices that would part such a pair, and says so.
void keep_fused_pairs(const Problem& problem, Choices& choices);

}  // namespace plumber
