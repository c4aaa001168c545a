// SPDX-License-Identifier: Apache-2.0
// The numbers of the programme at one setting. What a dispatched call or a hand-over costs depends
// on the work around it (ops/cost_model.h), so they hold near that setting only: the programme is
// solved, its plan gives new numbers, and it is solved again.
#pragma once

#include "optimize/choices.h"
#include "optimize/programme.h"

namespace plumber {

ProgrammeInput programme_input(const Problem& problem, const Choices& choices,
                               const Setting& setting);

/// Buffer of a prefetch above the node, in elements: 2 at the end and for rare elements, else what
/// bridges a pause of a millisecond; at least 64 where elements come fast, because a shallow buffer
/// makes both threads sleep at each of them; at most 64 MB, at the end 4 MB and a hundredth of the
/// memory.
int prefetch_size(const Problem& problem, NodeId id, double period_s);

}  // namespace plumber
