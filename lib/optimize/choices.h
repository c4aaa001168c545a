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

/// Why an edit of a kind that is not wanted is rejected.
constexpr const char* kLeftOut = "left out by --without";

/// One way to run a node, and the edit that makes it so.
struct ModeChoice {
  NodeSetting setting;                 // mode and parallelism
  const ModeChange* change = nullptr;  // nullptr: as stock TensorFlow runs it, no edit
};

struct NodeChoices {
  std::vector<ModeChoice> modes;  // the first one is stock TensorFlow's
  // The last mode is taken without a choice, and taken back afterwards where it brings nothing: it
  // is the first one with more calls in flight and so at least as fast; or the program is so large
  // that its nodes run parallel by rule.
  bool take_last = false;
  bool prefetch = false;
  std::optional<double> cache_bytes;
  std::optional<double> disk_cache_bytes;  // of a file
};

struct Choices {
  PerNode<NodeChoices> nodes;
  PerNode<int> most_calls;
  double all_work_s = 0;  // of all nodes, per root element
  std::vector<Rejected> rejected;
  std::vector<NodeId> too_big;  // caches that only the memory forbids
};

/// `memory_bytes`: what is left of the budget; negative: the program is over it, nothing is added.
Choices find_choices(const Problem& problem, double memory_bytes);

/// Why calls of this node beside each other would give other elements: a seed or state in its
/// function. Empty: they would not, or it is permitted.
std::string why_elements_would_change(const Problem& problem, NodeId id);

/// A kernel of the node's function that shares its work with TensorFlow's intra-op threads, at
/// elements of this size; empty if there is none.
std::string sharding_kernel(const Problem& problem, NodeId id);

/// How many columns of 0/1 the choices make.
std::size_t count_choices(const Choices& choices);

/// True if anything can be chosen at all.
bool any_choice(const Choices& choices);

}  // namespace plumber
