// SPDX-License-Identifier: Apache-2.0
// How many calls of a parallel op to have in flight.
//
//   enough to keep the period:  1.2 S / t, with a hedge because demands are estimates: where one
//                               node needs 95 calls and another 1, a small error in the second
//                               would starve the first; and one more
//   results in order:           a long call holds the results of later ones back, which count
//                               against the calls in flight (order_loss in ops/hand_off.h): with
//                               c = S / t running c (1 + min(0.9, log2(c) / 4)) order_loss + 1
//   beside such nodes:          calls of all nodes wait in one queue, so that the others get twice
//                               as many more as they make while one waits
//   short calls (below 0.2 ms): four times as many, so that threads find the next call waiting and
//                               do not go to sleep between two (ops/hand_off.h), if their
//                               elements are small
//   below a batch:              as many more as the other cores finish while its thread copies
//                               (ops/pauses.h), at most one batch
//   waiting functions:          on threads of their own as many as keep the cores busy with the
//                               rest, at most 64
//   interleave:                 at most its open files: TensorFlow refuses more; more than cores
//                               only where a disk gives more to more readers
#pragma once

#include "optimize/problem.h"

namespace plumber {

/// What the data sets of an interleave spend waiting for their files.
struct WaitingReaders {
  bool waiting = false;
  double wait_share = 0;  // of their time
};
WaitingReaders waiting_readers(const Pipeline& pipeline, const Costs& costs, NodeId interleave);

/// As in ops/waiting_calls.h.
bool waits_often(const Problem& problem, NodeId id);

/// Most calls in flight that are worth having: what the shortest period asks for at which the node
/// runs at all. What stands above it then runs too, on the same cores.
PerNode<int> most_calls(const Problem& problem);

/// Calls of one node that keep the period, s, under a setting.
int calls_wanted(const Problem& problem, const Setting& setting, NodeId id, double period_s);

}  // namespace plumber
