// SPDX-License-Identifier: Apache-2.0
// What stands between a node of the main graph and the root: a cache, a shuffle, and whatever keeps
// an epoch from being read to its end. Measured on TensorFlow 2.21: batch (with or without
// drop_remainder), shard, window, interleave and zip of equal lengths read all of their input.
#pragma once

#include <optional>

#include "ops/analysis.h"
#include "pipeline/pipeline.h"

namespace plumber {

/// Of several consumers each has an iterator of its own: a cache or a cutter above one of them
/// counts, a shuffle must stand above all.
struct Above {
  bool reached = false;          // the root reads it
  std::optional<NodeId> cache;   // the nearest one
  std::optional<NodeId> cutter;  // may read less than all of each epoch; below the next repeat only
  std::optional<NodeId> shuffle;  // the nearest that draws a new order in each epoch
  bool by_chance = false;         // one of those has no fixed seed
};

/// Nodes inside functions: nothing.
PerNode<Above> what_stands_above(const Pipeline& pipeline,
                                 const PerNode<Cardinality>& elements_per_epoch);

}  // namespace plumber
