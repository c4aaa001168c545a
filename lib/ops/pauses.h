// SPDX-License-Identifier: Apache-2.0
// How long the thread that pulls a node stops pulling: a batch takes its elements one after the
// other and then copies all of them, and work on whole batches above it on the same thread comes on
// top. A parallel map keeps no more finished elements than it may have calls, so in a pause its
// calls run dry unless there are enough of them.
#pragma once

#include "ops/cost_model.h"

namespace plumber {

struct Pause {
  double length_s = 0;  // of one pause, s
  double per_root = 0;  // pauses per root element
  double elements = 0;  // taken between two of them
};

/// The longest pause of the thread above each node.
PerNode<Pause> pauses_above(const Pipeline& pipeline, const Costs& costs, const Setting& setting);

/// Core seconds per root element that lie idle because `calls` of `service_s` each do not fill the
/// pauses: the thread that pauses keeps one core, the others could make at most all that it takes
/// until the next one.
double idle_in_pauses_s(const Pause& pause, double calls, double service_s, double cores);

}  // namespace plumber
