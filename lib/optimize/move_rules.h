// SPDX-License-Identifier: Apache-2.0
// When may a node change places with the 1:1 map below it? What is claimed, for a map f that is
// deterministic, has no state and draws nothing by chance, so that f(x) depends on x alone:
//
//   take, skip, shard, repeat   choose places of the order and never look at a value:
//                               choose(f(x_1), f(x_2), ...) = f(x_i) for the chosen i
//   prefetch                    hands on what it gets
//   shuffle                     draws places by its seeds and by how many elements it holds, never
//                               by a value: the same permutation, bit for bit
//   cache                       keeps elements; f of a kept element is the kept f of it. With a
//                               random f each epoch draws anew: only with the permission unfreeze
//   batch                       f needs a batch form (pipeline/batch_form.h)
//
// Below a take f is not called for what the take cuts off. A parallel map begins such calls, and
// throws their results away unseen when the take ends the pass, errors among them: an element
// beyond the take whose f fails has made no program fail before, and makes none fail after.
//
// f is then called for other elements than before (fewer), at other times. What could tell: state,
// Python, and errors. An error that f raises on an element that is now skipped is not raised; it is
// seen by all programs but those that ignore errors, which would get other elements: refused.
#pragma once

#include <optional>
#include <string>

#include "optimize/optimize.h"

namespace plumber {

/// Why the elements would be others; no reason: they would not.
struct Objection {
  std::string reason;
  std::optional<Permission> permission;  // with it the move may be made all the same
};

/// `above` goes below `map`, which it reads.
Objection objection_to_reorder(const Pipeline& pipeline, NodeId map, NodeId above);

/// The map goes into the function of the interleave that it reads.
Objection objection_to_move_inside(const Pipeline& pipeline, NodeId map, NodeId interleave);

/// Why the map or filter may not run on chunks of its elements, for several of them at once; empty:
/// it may. Values drawn by chance stay as random as they were, but for a seed.
std::string objection_to_chunks(const Pipeline& pipeline, NodeId id);

/// Why an interleave must not read more data sets in turn, whoever permits it: nodes above look at
/// the order of its elements. Empty: it may.
std::string why_not_lengthened(const Pipeline& pipeline, NodeId interleave);

/// Why the node cannot stand in another function, which knows constants only; empty: it can.
std::string why_not_copied(const Node& node);

/// The first node below `id` that is no map which changes nothing: .unbatch() puts one below its
/// op.
NodeId below_identities(const Pipeline& pipeline, NodeId id);

/// The unbatch goes, with the batch below it.
Objection objection_to_drop_pair(const Pipeline& pipeline, NodeId unbatch);

/// The unbatch goes, and the batch above it cuts and joins batches.
Objection objection_to_rebatch(const Pipeline& pipeline, NodeId unbatch);

/// Why no element may fail another way than it did: a node ignores errors. Empty: it may.
std::string why_errors_matter(const Pipeline& pipeline);

/// Why calls of the node's function may not be left out, made again or in another order.
std::string why_not_exact(const Pipeline& pipeline, NodeId id);

}  // namespace plumber
