// SPDX-License-Identifier: Apache-2.0
// Functions that wait: for a file on a slow or far disk, asleep in Python. TensorFlow's pool has
// one thread for each core, and a call that waits holds one. Calls on threads of their own
// (use_unbounded_threadpool) wait side by side, as many as there are in flight.
#pragma once

#include "ops/cost_model.h"

namespace plumber {

/// True for a map whose function waits for a fifth of its time or more.
bool waits_often(const Node& node, const NodeCost& cost, const HandOff& hand_off);

/// True if the TensorFlow that was traced can run calls on threads of their own: 2.18 and later.
bool knows_own_threads(const Pipeline& pipeline);

}  // namespace plumber
