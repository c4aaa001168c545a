// SPDX-License-Identifier: Apache-2.0
// The memory that a pipeline holds under a plan: the ledger of ops/memory_ledger.h with the plan's
// calls in flight, and what the plan inserts.
#pragma once

#include "optimize/choices.h"
#include "optimize/settle.h"

namespace plumber {

/// What the program holds as stock TensorFlow runs it, with the prefetch that it puts at the end.
double stock_memory_bytes(const Problem& problem);

/// The part of it that no plan changes: all but that prefetch and the calls in flight of nodes that
/// could run in another way.
double fixed_memory_bytes(const Problem& problem, const Choices& choices);

/// Calls in flight of one node; 0 if it has none.
double in_flight_bytes(const Problem& problem, NodeId id, const NodeSetting& setting);

/// Its caches on disk, source first.
PlannedDisk planned_disk(const Problem& problem, const Settled& settled);

/// All that is held under a settled plan, largest first.
PlannedMemory planned_memory(const Problem& problem, const Settled& settled);

}  // namespace plumber
