// SPDX-License-Identifier: Apache-2.0
// What may be changed at each node, and why the rest may not (design §4): ways of running it by the
// table of modes, prefetches that may split a segment, caches that are legal and fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimize/modes.h"
#include "optimize/problem.h"

namespace plumber {

/// One way to run a node, and the edit that makes it so.
struct ModeChoice {
  NodeSetting setting;             // mode and parallelism
  const ModeChange* change = nullptr;  // nullptr: as stock TensorFlow runs it, no edit
};

struct NodeChoices {
  std::vector<ModeChoice> modes;  // the first one is stock TensorFlow's
  bool prefetch = false;
  std::optional<double> cache_bytes;
};

struct Choices {
  PerNode<NodeChoices> nodes;
  std::vector<Rejected> rejected;
  std::vector<NodeId> too_big;  // caches that only the memory forbids
};

/// `memory_bytes`: what is left of the budget; negative: the program is over it, nothing is added.
Choices find_choices(const Problem& problem, double memory_bytes);

/// Most calls in flight that are worth having: the cores, twice as many where a call's work is so
/// short (below 0.2 ms) that its threads are mostly waking up.
int most_calls(const Problem& problem, NodeId id);

/// How many columns of 0/1 the choices make.
std::size_t count_choices(const Choices& choices);

}  // namespace plumber
