// SPDX-License-Identifier: Apache-2.0
// Nodes that an algebraic move makes, with costs that nobody has measured in this program:
//
//   a map leaves its batch     copying a batch costs what it does elsewhere, the rest of the work
//                              and the calls are the map's
//   a batch becomes a rebatch  slices of batches are joined: so many a batch, and the bytes are
//                              copied once
//   chunks                     an element is copied into its chunk and out of it, and a chunk opens
//                              a data set
//
// They work for a node as traced (Node::made_above). Costs of copying are built in (2 cores,
// TensorFlow 2.21).
#pragma once

#include "optimize/moved.h"

namespace plumber {

/// How elements go through chunks: so many each, so many chunks at once.
struct ChunkShape {
  std::int64_t elements = 0;
  std::int64_t at_once = 0;
};

/// A batch above `source`, and over it an interleave whose function makes single elements of it
/// again. Costs of the new nodes are built-in (2 cores, TensorFlow 2.21). Returns the interleave.
NodeId put_chunks_above(Moved& moved, NodeId source, const ChunkShape& shape);

/// The batch reads an unbatch, which will be taken out: it cuts and joins batches from here on.
void become_rebatch(Moved& moved, NodeId batch);

/// Takes the map out of a map and batch in one, which stays as the batch and keeps the name.
/// Returns the map.
NodeId take_map_out(Moved& moved, NodeId fused);

}  // namespace plumber
