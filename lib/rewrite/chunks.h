// SPDX-License-Identifier: Apache-2.0
// Chunks: a batch of K elements, and over it a deterministic parallel interleave whose function
// makes a data set of the K elements again. What moves into that function runs for several chunks
// at once and is handed over once a chunk, not once an element.
//
// Same elements, same order: the interleave takes blocks of K + 1 elements, so that each data set
// is emptied at its first turn, and its data sets are the chunks in their order. What a node in the
// function does must not depend on other elements than those of its chunk: maps and filters do not;
// a batch of n does not where n divides K and nothing below it drops elements, because each chunk
// but the last then gives whole batches.
#pragma once

#include "rewrite/body.h"

namespace plumber {

/// True for the interleave that insert_chunks has made.
bool are_chunks(const Body& body, const tensorflow::NodeDef& interleave);

/// The batch moves into the function `inner` of these chunks: they hand on blocks of batches.
/// Refused where the batches would be others.
void batch_chunks(Body& body, tensorflow::NodeDef& interleave, const tensorflow::NodeDef& batch,
                  Body& inner);

}  // namespace plumber
