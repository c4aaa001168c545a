// SPDX-License-Identifier: Apache-2.0
// Corrects work by a measurement. Node times of dispatched calls hold more than the work: a thread
// that was asleep runs it on cold caches. The recorder's inline probe runs the same program with
// every map inline that can be, so that its CPU an element is the sum of the work and of the few
// hand-offs left:
//   f = (probe CPU - hand-offs left - the consumer's next()) / sum of work as node times tell it
// and the work of each node is multiplied by f.
#pragma once

#include "ops/cost_model.h"

namespace plumber {

/// `probe_cpu_s`: CPU per root element. Nothing is changed where node times say nothing.
void correct_by_probe(const Pipeline& pipeline, double probe_cpu_s, double cores, Costs& costs);

}  // namespace plumber
