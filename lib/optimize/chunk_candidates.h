// SPDX-License-Identifier: Apache-2.0
// Moves that let small functions run in chunks (rewrite/chunks.h): a run of maps and filters, with
// the batch above it where nothing is lost below that, goes into an interleave over chunks of K
// elements. Its functions then run inline for several chunks at once, and what is handed from
// thread to thread is a chunk: the only way to use many cores where a call is shorter than handing
// it over. Chosen by the plan that it allows, as all moves are.
//
//   K            8 ms of work, 16 to 1024 elements of together at most 8 MiB and 64 root elements,
//                at most a fourth of what each core gets of an epoch; whole batches, where a batch
//                goes in. Only elements that become parts of batches are worth it.
//   at once      two more than the cores that have so many: one is being read, one written
#pragma once

#include "optimize/move_candidates.h"

namespace plumber {

/// What the pipeline allows, and of what it does not allow where it might pay, why.
MoveCandidates find_chunks(const Moved& now, const OptimizeOptions& options);

}  // namespace plumber
