// SPDX-License-Identifier: Apache-2.0
// What the pipeline holds in memory once its buffers are full (design §1.2): one ledger for buffers
// and caches. Bytes of an element are payload, b_i; sizes are what the program and its settings
// allow, not the fill of the moment.
//
//   shuffle             min(buffer, n) (b + 200 B): TensorFlow keeps some 200 B beside each
//   prefetch            min(buffer, n) b
//   calls in flight     p b; fused map and batch: (ceil(p / batch) + 1) batches
//   interleave buffers  open files (256 KiB read ahead + what a parallel one fetches ahead)
//   batch in flight     b
//   window              size elements of the input
//   groups              elements read and not yet handed on, as they were counted
//   cache               n (b + 200 B), in memory
//   source tensors      n b of tensors that stand in the program itself
//
// A node inside a function counts once for each of its iterators that are open at once. Nodes below
// a filled cache hold nothing any more.
#pragma once

#include "ops/analysis.h"
#include "pipeline/pipeline.h"

namespace plumber {

/// The ledger of a program that runs under `setting`, of which modes and parallelism are read.
Memory memory_ledger(const Pipeline& pipeline, const PerNode<NodeAnalysis>& nodes,
                     const Setting& setting);

/// The ledger of the program as traced: analysis.nodes and analysis.setting are read.
Memory memory_ledger(const Pipeline& pipeline, const Analysis& analysis);

/// What a memory cache above the node holds once it is full; 0 where its size is unknown.
double cached_bytes(const NodeAnalysis& node);

/// What a parallel interleave fetches ahead, which a sequential one does not.
double fetched_ahead_bytes(const Pipeline& pipeline, const PerNode<NodeAnalysis>& nodes, NodeId id,
                           double calls);

/// The ledger by node.
PerNode<double> held_bytes(const Pipeline& pipeline, const Memory& memory);

}  // namespace plumber
