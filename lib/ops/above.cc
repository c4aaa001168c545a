// SPDX-License-Identifier: Apache-2.0
#include "ops/above.h"

#include "ops/randomness.h"

namespace plumber {
namespace {

// Counts by file sizes carry rounding errors.
constexpr double kEqual = 1e-6;

bool is_known(const Cardinality& c) { return c.kind == Cardinality::Kind::kKnown; }

class LookUp {
 public:
  LookUp(const Pipeline& pipeline, const PerNode<Cardinality>& elements)
      : p_(pipeline), elements_(elements), above_(pipeline.size()) {}

  PerNode<Above> run() {
    above_[p_.root].reached = true;
    for (std::size_t i = p_.size(); i-- > 0;) look_up_from(static_cast<NodeId>(i));
    return std::move(above_);
  }

 private:
  // Hands what is above a node, and the node itself, on to its inputs.
  void look_up_from(NodeId n) {
    if (p_[n].outer || !above_[n].reached) return;
    for (std::size_t k = 0; k < p_[n].inputs.size(); ++k) {
      const NodeId input = p_[n].inputs[k];
      Above seen = above_[n];
      if (p_[n].kind == Kind::kCache) seen.cache = n;
      if (reshuffles(p_[n])) {
        seen.shuffle = n;
        seen.by_chance = seen.by_chance || !p_[n].fixed_seed;
      }
      if (p_[n].kind == Kind::kRepeat || p_[n].kind == Kind::kShuffleRepeat) seen.cutter.reset();
      if (cuts(n, k)) seen.cutter = n;
      add(seen, above_[input]);
    }
  }

  static void add(const Above& seen, Above& all) {
    if (!all.reached) {
      all = seen;
      return;
    }
    if (!all.cache) all.cache = seen.cache;
    if (!all.cutter) all.cutter = seen.cutter;
    if (!seen.shuffle) all.shuffle.reset();
    all.by_chance = all.by_chance && seen.by_chance;
  }

  // True if the node does not read its k-th input to the end.
  bool cuts(NodeId n, std::size_t k) const {
    const Node& node = p_[n];
    const Cardinality& input = elements_[node.inputs[k]];
    switch (node.kind) {
      case Kind::kTake:
        if (node.count.value_or(0) < 0) return false;
        return !is_known(input) || !node.count || input.elements > static_cast<double>(*node.count);
      case Kind::kTakeWhile:
        return true;
      case Kind::kZip:
        return !is_known(input) || input.elements > elements_[n].elements * (1 + kEqual);
      case Kind::kMixture:
        return node.stop_on_empty || k == 0;
      case Kind::kOpaque:
        return node.op.find("Rebatch") == std::string::npos;
      default:
        return false;
    }
  }

  const Pipeline& p_;
  const PerNode<Cardinality>& elements_;
  PerNode<Above> above_;
};

}  // namespace

PerNode<Above> what_stands_above(const Pipeline& pipeline,
                                 const PerNode<Cardinality>& elements_per_epoch) {
  return LookUp(pipeline, elements_per_epoch).run();
}

}  // namespace plumber
