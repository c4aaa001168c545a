// SPDX-License-Identifier: Apache-2.0
// Corrects work by a measurement. Node times of dispatched calls hold more than the work: a thread
// that was asleep runs it on cold caches. The recorder's inline probe runs the same program with
// every map inline that can be, so that its CPU an element is the sum of the work and of the few
// hand-offs left:
//   f = (probe CPU - hand-offs left - the consumer's next()) / sum of work as node times tell it
// and the work of each node is multiplied by f, or by what lies nearest to 1 within a fifth of the
// hand-offs.
#pragma once

#include "ops/cost_model.h"

namespace plumber {

/// CPU of a whole program per root element.
struct MeasuredCpu {
  double cpu_s = 0;
  double cores = 1;
  bool autotune = true;  // it ran with AUTOTUNE, which counts (bookkeeping.h)
};

/// Nothing is changed where node times say nothing.
void correct_by_probe(const Pipeline& pipeline, const MeasuredCpu& probe, Costs& costs);

/// Functions that the program itself runs inline take time that no node's counters hold: it is what
/// the whole program's CPU has beyond the nodes and their hand-offs.
/// Shared out by calls and the ops of a call. False, and nothing done, without such functions.
bool add_inline_work(const Pipeline& pipeline, const MeasuredCpu& ran, Costs& costs);

}  // namespace plumber
