// SPDX-License-Identifier: Apache-2.0
// May a cache be inserted above a node (design §4, cache rule)? What lies at or below it decides
// its class, what stands above it whether the cache would ever be complete.
//
//   exact    nothing random below: every epoch makes the same elements in the same order
//   order    only the order differs from epoch to epoch: reshuffling shuffles, non-deterministic
//            parallel ops, mixtures by chance. Allowed by default where a reshuffling shuffle stays
//            above in the main graph. Batches and windows over such an order are of this class too,
//            but no shuffle above mends what they freeze: who goes with whom.
//   content  a random or stateful op, a Python function, an op we do not know; or an op that
//   chooses
//            among elements by their order (take, skip, shard, zip, scan) over a changing order
//
// An existing cache makes all below it exact. Legal are finite nodes of the main graph whose number
// of elements is known, that no cache covers already, and of which each epoch pulls every element:
// TensorFlow throws away a memory cache that was not read to its end. (take(k) with k of at least
// the number of elements reads to the end, and so does zip on its longest input if all are equal.)
//
// Reads of variables and tables are exact unless a function of the program writes one: their values
// were frozen when the program was written out.
#pragma once

#include "ops/analysis.h"
#include "pipeline/pipeline.h"

namespace plumber {

PerNode<CacheVerdict> cache_verdicts(const Pipeline& pipeline,
                                     const PerNode<Cardinality>& elements_per_epoch);

}  // namespace plumber
