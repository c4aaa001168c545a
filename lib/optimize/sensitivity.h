// SPDX-License-Identifier: Apache-2.0
// How much a plan's rate depends on its demands, which are estimates: its rate if one node's work
// is a fifth more, or less, than traced, with the plan as it is. Tests hold the low end to what a
// plan made for the changed demand would reach: numbers of calls have that much to spare (calls.h).
#pragma once

#include "optimize/settle.h"

namespace plumber {

Sensitivity sensitivity(const Problem& problem, const Settled& settled);

/// A node's work (and CPU) becomes `factor` times as much.
void scale_work(Problem& problem, NodeId id, double factor);

}  // namespace plumber
