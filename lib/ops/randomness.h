// SPDX-License-Identifier: Apache-2.0
// What changes from epoch to epoch at or below each node, and which node is to blame: the evidence
// behind the classes of ops/cache_class.h, and behind findings on existing caches.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pipeline/pipeline.h"

namespace plumber {

/// A node and what it does, as a clause: "calls RandomUniform in its function '_crop'".
struct Blame {
  NodeId node{};
  std::string does;
};

struct Randomness {
  std::optional<Blame> content;  // random, stateful or unknown; Python apart
  std::optional<Blame> python;
  std::optional<Blame> order;
  std::optional<Blame> grouping;  // batches or windows over a changing order
  bool order_by_chance = false;  // the order differs from run to run: not all of it has fixed seeds
};

/// Below a cache of the program that is filled nothing counts; `freezes` says which are.
PerNode<Randomness> randomness_below(const Pipeline& pipeline,
                                     const std::function<bool(NodeId)>& freezes);

/// A shuffle of the main graph that draws a new order in each epoch.
bool reshuffles(const Node& node);

/// How messages name a node: "ShuffleDatasetV3/_2", "mix (ShuffleDatasetV3)".
std::string said(const Node& node);

}  // namespace plumber
