// SPDX-License-Identifier: Apache-2.0
// MapAndBatch (tf.data.experimental.map_and_batch) as a map and a batch: alone, the map may run on
// the thread that asks for its elements, in chunks or in the function of an interleave, and its
// batch may go below it. The opposite, which TensorFlow does by itself, is switched off then.
//
// The same elements in the same order. MapAndBatch calls f for x_1, x_2, ... as they come in, at
// most p at a time, and writes f(x_i) into row (i - 1) mod n of batch (i - 1) div n; batches are
// handed on in their order, whatever Options.deterministic says. A deterministic parallel map of p
// calls hands on f(x_1), f(x_2), ..., and a batch copies n of them in this order:
//
//   the last batch     of fewer than n elements is as short, or dropped, by the same drop_remainder
//   shapes             both fail for a batch whose elements differ in shape; only MapAndBatch does
//                      for one that it drops then, so that an error may go but none comes
//   errors             f(x_i) makes batch (i - 1) div n fail either way. What follows is other
//                      elements (the batch goes on behind x_i, MapAndBatch behind its n): refused
//                      where a node ignores errors, all other programs end with it
//   state, chance      calls begin in the order of the elements; with p = 1, where a seed decides,
//                      each ends before the next begins, and later choices keep it so (choices.h)
//
// In functions (of an interleave) nodes stay as they are, and so does a MapAndBatch whose function
// makes data sets.
#pragma once

#include "optimize/move_candidates.h"

namespace plumber {

/// Why the node may not be taken apart; empty: it may.
std::string why_not_unfused(const Pipeline& pipeline, NodeId fused);

/// True if a plan may take the map out of this node: it stands in the main graph.
bool is_fused(const Node& node);

/// Candidates for every such node, or why not.
void add_unfused(const Moved& now, MoveCandidates& found);

using FindMoves = MoveCandidates (*)(const Moved&, const OptimizeOptions&);

/// Those that `find` has for the map once that is taken out.
void add_beyond_unfused(const Moved& now, const OptimizeOptions& options, FindMoves find,
                        MoveCandidates& found);

/// The pipeline with that node taken apart, without costs.
Pipeline with_map_taken_out(const Pipeline& pipeline, NodeId fused);

}  // namespace plumber
