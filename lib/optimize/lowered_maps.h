// SPDX-License-Identifier: Apache-2.0
// A map above a shuffle: what it makes cannot be cached there, because the order of one epoch would
// stay. Where its function is exact it may as well be called before the places are drawn, bit for
// bit (move_rules.h says why): a cache then stands between the two, and the shuffle holds what the
// map makes. So does a map above the shuffle's repeat or prefetch. Only offered where that opens a
// place for a cache.
#pragma once

#include "optimize/move_candidates.h"

namespace plumber {

/// Candidates of the first map above the shuffle, the first two, ...
void add_lowered_maps(const Moved& now, const OptimizeOptions& options, NodeId shuffle,
                      MoveCandidates& found);

}  // namespace plumber
