// SPDX-License-Identifier: Apache-2.0
// From decisions to numbers: calls in flight, how the part below a cache runs in the
// first epoch (which the steady state does not care about), numbers in place of AUTOTUNE.
#pragma once

#include "optimize/search.h"

namespace plumber {

/// A plan with every number fixed.
struct Settled {
  Setting setting;                     // the steady state: caches filled
  PerNode<const ModeChange*> changes;  // nullptr: the node runs as stock TensorFlow runs it
  PerNode<char> fixed_autotune;        // its change only puts a number in place of AUTOTUNE
  PerNode<int> buffers;                // new size of a prefetch of the program; 0: as it is
  bool any_edit = false;               // besides numbers in place of AUTOTUNE
  bool autotune_off = false;           // nothing is left to tune, and counting for it costs time
  int least_calls = 0;                 // below which AUTOTUNE must not go; 0: it may
  double spare_bytes = 0;              // of the memory
};

/// What the nodes cost under the plan: less where it switches AUTOTUNE off.
const Costs& costs_of(const Problem& problem, const Settled& settled);

/// Seconds per root element of the plan: in the steady state, and before its caches are filled.
Evaluation evaluate(const Problem& problem, const Settled& settled);
Evaluation evaluate_first_epoch(const Problem& problem, Settled settled);

Settled settle(const Problem& problem, const Choices& choices, const Decisions& decisions,
               double memory_bytes);

/// Adds what the first epoch needs below caches, from a search of its own.
void settle_first_epoch(const Problem& problem, const Choices& choices, Settled& settled);

/// True if an edit can put a number in place of AUTOTUNE's.
bool can_be_fixed(const Problem& problem, NodeId id);

/// Numbers in place of AUTOTUNE, so that the plan runs as predicted from its first element on; and
/// a prefetch of one element at the end gets two, one to hand out and one to fill.
void fix_numbers(const Problem& problem, Settled& settled);

}  // namespace plumber
