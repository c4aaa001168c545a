// SPDX-License-Identifier: Apache-2.0
// What TensorFlow spends on counting for AUTOTUNE: two looks at the clock and some sums for each
// element of each iterator, which the counters hold as time of the node. A program whose options
// switch AUTOTUNE off does without. Seconds an element, measured with TensorFlow 2.21 as the
// difference of one more node of 13 kinds with and without AUTOTUNE.
#pragma once

#include "ops/cost_model.h"

namespace plumber {

/// Of one element of the node, s.
double bookkeeping_s(const Node& node);

/// The same costs in a program that runs without AUTOTUNE.
Costs without_bookkeeping(Costs costs);

}  // namespace plumber
