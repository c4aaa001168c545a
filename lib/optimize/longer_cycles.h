// SPDX-License-Identifier: Apache-2.0
// An interleave whose readers wait for their files (a remote store) and need no core meanwhile:
// with a longer cycle more of them wait together. Its elements then follow each other in another
// order, so that needs the permission reorder-files, even where a shuffle above draws the order
// anew: which elements stand in its buffer together changes. Nodes that look at the order forbid
// it.
#pragma once

#include "optimize/move_candidates.h"

namespace plumber {

/// Candidates of twice, four times, ... the cycle, up to the number of files; without the
/// permission only to be judged.
void add_longer_cycles(const Moved& now, const OptimizeOptions& options, NodeId interleave,
                       MoveCandidates& found);

}  // namespace plumber
