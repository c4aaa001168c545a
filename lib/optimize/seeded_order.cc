// SPDX-License-Identifier: Apache-2.0
#include "optimize/seeded_order.h"

#include "ops/randomness.h"

namespace plumber {
namespace {

bool does_nothing(const Node& node) {
  switch (node.kind) {
    case Kind::kTake:
      return node.count == -1;
    case Kind::kSkip:
      return node.count == 0;
    case Kind::kShard:
    case Kind::kRepeat:
      return node.count == 1;
    case Kind::kMap:
      return node.function && node.function->facts.identity;
    default:
      return false;
  }
}

bool repeats_and_ends(const Node& node) {
  return node.kind == Kind::kRepeat && node.count != 1 && node.count.value_or(0) >= 0;
}

// Calls `visit` with each shuffle, its repeat and the nodes between, the repeat first.
template <class Visit>
void for_each_pair(const Pipeline& pipeline, const NodeBelow& below, Visit visit) {
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto repeat = static_cast<NodeId>(i);
    if (!repeats_and_ends(pipeline[repeat])) continue;
    std::vector<NodeId> chain = {repeat};
    std::optional<NodeId> n = below(repeat);
    for (; n && does_nothing(pipeline[*n]); n = below(*n)) chain.push_back(*n);
    if (!n || pipeline[*n].kind != Kind::kShuffle) continue;
    chain.push_back(*n);
    if (pipeline[*n].fixed_seed && reshuffles(pipeline[*n])) visit(chain);
  }
}

NodeBelow first_input(const Pipeline& pipeline) {
  return [&](NodeId id) {
    const std::vector<NodeId>& inputs = pipeline[id].inputs;
    return inputs.size() == 1 ? std::optional(inputs.front()) : std::nullopt;
  };
}

}  // namespace

std::set<NodeId> shuffles_with_repeat(const Pipeline& pipeline, const NodeBelow& below) {
  std::set<NodeId> shuffles;
  for_each_pair(pipeline, below,
                [&](const std::vector<NodeId>& chain) { shuffles.insert(chain.back()); });
  return shuffles;
}

std::set<std::string> shuffles_with_repeat(const Pipeline& pipeline) {
  std::set<std::string> names;
  for (const NodeId id : shuffles_with_repeat(pipeline, first_input(pipeline)))
    names.insert(pipeline[id].name);
  return names;
}

PerNode<bool> below_their_repeat(const Pipeline& pipeline) {
  PerNode<bool> found(pipeline.size());
  for_each_pair(pipeline, first_input(pipeline), [&](const std::vector<NodeId>& chain) {
    for (std::size_t i = 1; i < chain.size(); ++i) found[chain[i]] = true;
  });
  return found;
}

}  // namespace plumber
