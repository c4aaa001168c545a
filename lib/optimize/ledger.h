// SPDX-License-Identifier: Apache-2.0
// The memory that a pipeline holds under a plan: the ledger of ops/memory_ledger.h with the plan's
// calls in flight, and what the plan inserts.
#pragma once

#include "optimize/choices.h"
#include "optimize/settle.h"

namespace plumber {

/// What the program holds as stock TensorFlow runs it.
double stock_memory_bytes(const Problem& problem);

/// The part of it that no plan changes: all but the calls in flight of nodes that could run in
/// another way.
double fixed_memory_bytes(const Problem& problem, const Choices& choices);

/// Calls in flight of one node; 0 if it has none.
double in_flight_bytes(const Problem& problem, NodeId id, const NodeSetting& setting);

/// All that is held under a settled plan, largest first.
PlannedMemory planned_memory(const Problem& problem, const Settled& settled);

/// Makes a program that is over its budget hold less, largest elements first: prefetch buffers,
/// then calls in flight if the program fits with fewer. Shuffle buffers stay: a smaller one
/// shuffles less.
void shrink(const Problem& problem, Settled& settled);

}  // namespace plumber
