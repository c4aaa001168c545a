// SPDX-License-Identifier: Apache-2.0
#include "ops/cache_class.h"

#include <fmt/format.h>

#include "ops/above.h"
#include "ops/randomness.h"

namespace plumber {
namespace {

using fmt::format;

constexpr const char* kFrozenOrder = "frozen-order";
constexpr const char* kPyfuncCache = "pyfunc-cache";

bool is_known(const Cardinality& c) { return c.kind == Cardinality::Kind::kKnown; }

class Judge {
 public:
  Judge(const Pipeline& pipeline, const PerNode<Cardinality>& elements)
      : p_(pipeline),
        elements_(elements),
        above_(what_stands_above(pipeline, elements)),
        // What is read in part is never filled: its next epoch makes all elements anew.
        below_(randomness_below(pipeline, [this](NodeId id) { return !above_[id].cutter; })),
        endless_(pipeline.size()) {}

  PerNode<CacheVerdict> run() {
    for (std::size_t i = 0; i < p_.size(); ++i) note_endless(static_cast<NodeId>(i));
    PerNode<CacheVerdict> verdicts(p_.size());
    for (std::size_t i = 0; i < p_.size(); ++i)
      verdicts[static_cast<NodeId>(i)] = verdict(static_cast<NodeId>(i));
    return verdicts;
  }

 private:
  CacheVerdict verdict(NodeId n) const {
    CacheVerdict v = classify(n);
    const std::string obstacle = why_not(n);
    if (!obstacle.empty()) {
      v.legal = false;
      v.allow.clear();
      v.reason = obstacle;
    }
    return v;
  }

  CacheVerdict classify(NodeId n) const {
    const Randomness& below = below_[n];
    if (below.content)
      return {CacheClass::kContent, false,
              changes(*below.content, "with a cache, later epochs would repeat the first"), "",
              false};
    if (below.python)
      return {CacheClass::kContent, false,
              changes(*below.python, "may return something else each time"), kPyfuncCache, true};
    if (below.grouping)
      return {CacheClass::kOrder, false,
              changes(*below.grouping, "the same groups would come in every epoch"), kFrozenOrder,
              false};
    if (below.order) return order(n, below);
    return {CacheClass::kExact, true, "nothing below it changes from epoch to epoch", "", false};
  }

  std::string changes(const Blame& blame, const char* effect) const {
    return format("{} {}: {}", said(p_[blame.node]), blame.does, effect);
  }

  CacheVerdict order(NodeId n, const Randomness& below) const {
    const Blame& blame = *below.order;
    const auto& shuffle = above_[n].shuffle;
    if (!shuffle)
      return {
          CacheClass::kOrder, false,
          changes(blame, "its order of the first epoch would stay, and no shuffle stands above"),
          kFrozenOrder, false};
    if (!below.order_by_chance && !above_[n].by_chance)
      return {CacheClass::kOrder, false,
              changes(blame, format("its order of the first epoch would stay, and the seed of {} "
                                    "above would make another order of it",
                                    said(p_[*shuffle]))
                                 .c_str()),
              kFrozenOrder, false};
    const std::string size =
        p_[*shuffle].buffer_size ? format(", a buffer of {}", *p_[*shuffle].buffer_size) : "";
    return {CacheClass::kOrder, true,
            format("{} {}: its order of the first epoch stays, and {} above still shuffles{}",
                   said(p_[blame.node]), blame.does, said(p_[*shuffle]), size),
            "", false};
  }

  // Why no cache can stand above the node, whatever is allowed; empty if one can.
  std::string why_not(NodeId n) const {
    const Node& node = p_[n];
    const Above& above = above_[n];
    if (node.outer)
      return format("it is inside a function of {}, which makes a new data set each time",
                    said(p_[*node.outer]));
    if (node.kind == Kind::kWrapper) return "it only sets options and has no elements of its own";
    if (node.kind == Kind::kCache) return "it is a cache already";
    if (!above.reached) return "nothing that reaches the root reads it";
    if (above.cache)
      return format("{} above it keeps its elements already", said(p_[*above.cache]));
    if (elements_[n].kind == Cardinality::Kind::kInfinite)
      return format("{} makes it endless", said(p_[endless_[n]]));
    if (!is_known(elements_[n]))
      return "how many elements an epoch has is not known; say so by "
             ".apply(tf.data.experimental.assert_cardinality(N)), or trace an epoch to its end "
             "without .repeat()";
    if (above.cutter)
      return format("{} above it may not read it to its end; then TensorFlow throws the cache away",
                    said(p_[*above.cutter]));
    return "";
  }

  void note_endless(NodeId n) {
    endless_[n] = n;
    for (const NodeId input : p_[n].inputs)
      if (elements_[input].kind == Cardinality::Kind::kInfinite) endless_[n] = endless_[input];
  }

  const Pipeline& p_;
  const PerNode<Cardinality>& elements_;
  const PerNode<Above> above_;
  const PerNode<Randomness> below_;
  PerNode<NodeId> endless_;  // the lowest endless node at or below
};

}  // namespace

PerNode<CacheVerdict> cache_verdicts(const Pipeline& pipeline,
                                     const PerNode<Cardinality>& elements_per_epoch) {
  return Judge(pipeline, elements_per_epoch).run();
}

}  // namespace plumber
