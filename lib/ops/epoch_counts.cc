// SPDX-License-Identifier: Apache-2.0
#include "ops/epoch_counts.h"

#include <algorithm>

namespace plumber {
namespace {

using Count = std::optional<EpochCount>;

Count moved(const Count& count, double by) {
  return count && count->least > 0 ? Count({count->least + by, count->most + by}) : Count();
}

Count of_batch_input(const Node& node, const Count& count) {
  const auto size = static_cast<double>(node.count.value_or(0));
  if (!count || size < 1) return std::nullopt;
  if (node.drop_remainder) return EpochCount{count->least * size, (count->most + 1) * size - 1};
  return EpochCount{std::max(0.0, (count->least - 1) * size + (count->least > 0 ? 1 : 0)),
                    count->most * size};
}

bool takes_all(const Node& node, const Count& count) {
  if (!node.count) return false;
  return *node.count < 0 || (count && count->most < static_cast<double>(*node.count));
}

class Counting {
 public:
  explicit Counting(const Pipeline& pipeline)
      : p_(pipeline), counts_(p_.size()), drained_(p_.size()) {}

  PerNode<Count> run() {
    const PipelineDump& dump = p_.dumps.back();
    drained_[p_.root] = true;
    const double mean = dump.epochs_elements / dump.epochs;
    counts_[p_.root] = EpochCount{mean, mean};
    for (std::size_t i = p_.size(); i-- > 0;) settle(static_cast<NodeId>(i));
    return std::move(counts_);
  }

 private:
  void settle(NodeId n) {
    if (p_[n].outer || !drained_[n].value_or(false)) {
      counts_[n].reset();
      for (const NodeId input : p_[n].inputs) drained_[input] = false;
      return;
    }
    const Counters& c = p_.dumps.back().counters[n];
    if (c.ended_iterators > 0 && n != p_.root) {
      const double mean = c.ended_elements / c.ended_iterators;
      counts_[n] = EpochCount{mean, mean};
    }
    for (const NodeId input : p_[n].inputs) {
      const bool drained = drains(n);
      drained_[input] = drained && drained_[input].value_or(true);
      if (drained && !counts_[input]) counts_[input] = of_input(n);
    }
  }

  // True if the end of the node is the end of what it reads.
  bool drains(NodeId n) const {
    const Node& node = p_[n];
    switch (node.kind) {
      case Kind::kTake:
        return takes_all(node, counts_[n]);
      case Kind::kRepeat:
        return node.count.value_or(-1) > 0;
      case Kind::kShuffleRepeat:
      case Kind::kTakeWhile:
      case Kind::kZip:
      case Kind::kMixture:
      case Kind::kOpaque:
      case Kind::kSink:
      case Kind::kFileSource:
      case Kind::kMemorySource:
        return false;
      default:
        return true;
    }
  }

  Count of_input(NodeId n) const {
    const Node& node = p_[n];
    const Count& count = counts_[n];
    const auto number = static_cast<double>(node.count.value_or(0));
    switch (node.kind) {
      case Kind::kMap:
      case Kind::kPass:
      case Kind::kPrefetch:
      case Kind::kShuffle:
      case Kind::kCache:
      case Kind::kScan:
      case Kind::kWrapper:
      case Kind::kTake:
        return count;
      case Kind::kBatch:
      case Kind::kMapBatch:
        return of_batch_input(node, count);
      case Kind::kSkip:
        return number >= 0 ? moved(count, number) : Count();
      case Kind::kRepeat:
        return count ? Count({count->least / number, count->most / number}) : Count();
      default:
        return std::nullopt;
    }
  }

  const Pipeline& p_;
  PerNode<Count> counts_;
  PerNode<std::optional<bool>> drained_;  // by all consumers; nullopt: no consumer was looked at
};

}  // namespace

PerNode<Count> epoch_counts(const Pipeline& pipeline) {
  if (pipeline.dumps.empty() || !(pipeline.dumps.back().epochs > 0))
    return PerNode<Count>(pipeline.size());
  return Counting(pipeline).run();
}

}  // namespace plumber
