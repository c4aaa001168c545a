// SPDX-License-Identifier: Apache-2.0
// What a take throws away: when it has its n elements it ends the pass, and what nodes below it
// have begun beyond them was for nothing, in each pass anew. Below it, through maps, prefetches and
// batches, a pass begins
//
//   (n + w) / n elements for each one that is wanted
//   w = 0.7 of the calls in flight of the parallel maps on the way
//       + what the prefetches there hold, at most what the data set has left
//
// (0.7: measured with 2 to 16 calls above takes of 4 to 200 on 2 cores, TensorFlow 2.21; the rest
// are cancelled before they begin.) A prefetch counts with what it held in the mean of the trace;
// one that a plan adds with nothing, because it is empty where what fills it is the limit. Ends
// here: any other node, since how many elements it holds back is not known.
#pragma once

#include <optional>

#include "ops/cost_model.h"

namespace plumber {

/// Begun for each one that is wanted.
struct Begun {
  double elements = 1;  // of the node
  double work = 1;      // of its calls: of a parallel map more than the elements that leave it
};

/// Of each node; nullopt: no take of the program ends a pass early.
std::optional<PerNode<Begun>> begun_below_takes(const Pipeline& pipeline, const Costs& costs,
                                                const Setting& setting);

/// The costs with all that is begun for nothing under the setting.
Costs with_waste(const Costs& costs, const PerNode<Begun>& begun);

}  // namespace plumber
