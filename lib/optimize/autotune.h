// SPDX-License-Identifier: Apache-2.0
// Whether a plan can do without AUTOTUNE. TensorFlow counts for it in every iterator
// (bookkeeping.h), which is much of the time where elements are small; a plan that fixes every
// number, writes every parallel op and has its own prefetch at the end leaves it nothing to choose.
#pragma once

#include "optimize/settle.h"

namespace plumber {

/// True if every number that AUTOTUNE chooses can be written instead: plans are then searched for
/// with the costs of a program without it.
bool can_do_without_autotune(const Problem& problem);

/// Switches AUTOTUNE off in a plan where nothing is left to tune and it brings 2 % or more.
void switch_autotune_off(const Problem& problem, Settled& settled);

}  // namespace plumber
