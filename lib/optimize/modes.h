// SPDX-License-Identifier: Apache-2.0
// How an op of the program may be run instead, and the edit that makes it so: one line of a table
// for each pair. A new way of running functions is a new mode, new lines, and nothing else here.
#pragma once

#include <span>
#include <string_view>

#include "ops/cost_model.h"
#include "pipeline/plan.h"

namespace plumber {

struct ModeChange {
  std::string_view op;  // of the program
  Mode mode{};          // what it becomes
  EditKind edit{};
  std::string_view to;  // the new op; "" where it stays
};

/// The lines of an op, in the order of preference. Empty for an op that only runs one way.
std::span<const ModeChange> mode_changes(std::string_view op);

/// True for an interleave whose cycle_length is no constant: TensorFlow refuses more calls than
/// that, and how many it is nobody knows.
bool cycle_is_computed(const Node& node);

}  // namespace plumber
