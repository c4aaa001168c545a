// SPDX-License-Identifier: Apache-2.0
#include "ops/visit_ratios.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/file_records.h"

namespace plumber {
namespace {

// Beyond this a program is damaged, and its products would leave the range of numbers.
constexpr double kMostVisits = 1e15;

class Visits {
 public:
  Visits(const Pipeline& pipeline, const CounterWindow& window,
         PerNode<std::optional<double>> cardinality)
      : p_(pipeline), window_(window), cardinality_(std::move(cardinality)), files_(pipeline) {
    out_.visits = PerNode<double>(p_.size(), 0);
    out_.structural = PerNode<bool>(p_.size(), true);
    out_.known = PerNode<bool>(p_.size(), true);
  }

  VisitRatios run() {
    out_.visits[p_.root] = 1;
    for (std::size_t i = p_.size(); i-- > 0;) visit(static_cast<NodeId>(i));
    return std::move(out_);
  }

 private:
  void visit(NodeId n) {
    const Node& node = p_[n];
    switch (node.kind) {
      case Kind::kBatch:
      case Kind::kMapBatch:
        return pass_all(n, std::max<double>(1, static_cast<double>(node.count.value_or(1))));
      case Kind::kFilter:
      case Kind::kShard:
      case Kind::kUnbatch:
      case Kind::kWindow:
      case Kind::kOpaque:
        return pass_measured(n);
      case Kind::kSkip:
        return skip(n);
      case Kind::kFlatMap:
      case Kind::kInterleave:
      case Kind::kGroup:
        return pass_files(n);
      case Kind::kConcatenate:
        return share(n, 0);
      case Kind::kMixture:
        return mixture(n);
      default:
        return pass_all(n, 1);
    }
  }

  void add(NodeId from, NodeId to, double ratio, bool structural) {
    out_.visits[to] = std::min(kMostVisits, out_.visits[to] + out_.visits[from] * ratio);
    out_.structural[to] = out_.structural[to] && out_.structural[from] && structural;
    out_.known[to] = out_.known[to] && out_.known[from];
  }

  void pass_all(NodeId n, double ratio) {
    for (const NodeId input : p_[n].inputs) add(n, input, ratio, true);
    for (const NodeId inner : p_[n].inner) add(n, inner, 1, true);
  }

  double counted(NodeId n) const {
    const double steady = window_.steady[n].elements;
    return steady > 0 ? steady : window_.total[n].elements;
  }

  // Elements that `input` made for each of `n`; what waits in between was made ahead.
  std::optional<double> measured(NodeId n, NodeId input) const {
    const bool both_steady = window_.steady[n].elements > 0 && window_.steady[input].elements > 0;
    const auto& counters = both_steady ? window_.steady : window_.total;
    if (counters[n].elements <= 0 || counters[input].elements <= 0) return std::nullopt;
    return counters[input].elements / counters[n].elements;
  }

  void pass_measured(NodeId n) {
    for (const NodeId input : p_[n].inputs) {
      const auto ratio = measured(n, input);
      add(n, input, ratio.value_or(1), false);
      if (!ratio) out_.known[input] = false;
    }
    for (const NodeId inner : p_[n].inner) add(n, inner, 1, true);
  }

  // Skipped elements are read once an epoch: their share counts where an epoch is short.
  void skip(NodeId n) {
    for (const NodeId input : p_[n].inputs) {
      const auto own = cardinality_[n], below = cardinality_[input];
      const bool by_program = own && below && *own > 0;
      const double ratio = by_program ? *below / *own : measured(n, input).value_or(1);
      add(n, input, std::max(1.0, ratio), by_program);
    }
  }

  // Inner data sets yield what the node yields; its input lists them.
  void pass_files(NodeId n) {
    const Node& node = p_[n];
    share_among(n, node.inner, 1);
    for (const NodeId input : node.inputs) {
      // Files that are open still were listed whole: the bytes of files tell better than counts.
      const auto per_file = files_.records_per_file(n, input);
      const auto ratio = per_file ? std::optional(1 / *per_file) : measured(n, input);
      add(n, input, ratio.value_or(1), false);
      if (!ratio) out_.known[input] = false;
    }
  }

  void share(NodeId n, std::size_t first) {
    const std::vector<NodeId> inputs(p_[n].inputs.begin() + static_cast<std::ptrdiff_t>(first),
                                     p_[n].inputs.end());
    share_among(n, inputs, 1);
  }

  void mixture(NodeId n) {
    if (!p_[n].inputs.empty()) add(n, p_[n].inputs.front(), 1, true);
    if (p_[n].inputs.size() > 1) share(n, 1);
  }

  // Shares by the program where it knows every part (a concatenation's epochs), else by counts.
  void share_among(NodeId n, const std::vector<NodeId>& parts, double total) {
    if (parts.size() == 1) return add(n, parts.front(), total, true);
    const auto sum_of = [&](auto&& value) {
      return std::accumulate(parts.begin(), parts.end(), 0.0,
                             [&](double sum, NodeId part) { return sum + value(part); });
    };
    const bool by_program = p_[n].kind == Kind::kConcatenate &&
                            std::all_of(parts.begin(), parts.end(), [&](NodeId part) {
                              return cardinality_[part].has_value();
                            });
    const auto weight = [&](NodeId part) {
      return by_program ? cardinality_[part].value_or(0) : counted(part);
    };
    const double sum = sum_of(weight);
    for (const NodeId part : parts) {
      const double even = total / static_cast<double>(parts.size());
      add(n, part, sum > 0 ? total * weight(part) / sum : even, by_program);
      if (!(sum > 0)) out_.known[part] = false;
    }
  }

  const Pipeline& p_;
  const CounterWindow& window_;
  PerNode<std::optional<double>> cardinality_;
  FileRecords files_;
  VisitRatios out_;
};

using Count = std::optional<double>;

Count of_inputs(const Node& node, const PerNode<Count>& known, bool sum) {
  double total = 0;
  bool first = true;
  for (const NodeId input : node.inputs) {
    if (!known[input]) return std::nullopt;
    total = sum ? total + *known[input] : first ? *known[input] : std::min(total, *known[input]);
    first = false;
  }
  return first ? Count() : Count(total);
}

Count program_cardinality(const Node& node, const PerNode<Count>& known) {
  if (node.source_elements) return static_cast<double>(*node.source_elements);
  const Count below = of_inputs(node, known, node.kind == Kind::kConcatenate);
  const auto count = static_cast<double>(node.count.value_or(-1));
  switch (node.kind) {
    case Kind::kTake:
      if (count < 0) return below;
      return below ? Count(std::min(*below, count)) : Count();
    case Kind::kSkip:
      return below && count >= 0 ? Count(std::max(0.0, *below - count)) : Count();
    case Kind::kRepeat:
      return below && count >= 0 ? Count(*below * count) : Count();
    case Kind::kBatch:
    case Kind::kMapBatch:
      if (!below || count <= 0) return std::nullopt;
      return node.drop_remainder ? std::floor(*below / count) : std::ceil(*below / count);
    case Kind::kMap:
    case Kind::kPass:
    case Kind::kPrefetch:
    case Kind::kShuffle:
    case Kind::kCache:
    case Kind::kScan:
    case Kind::kZip:
    case Kind::kWrapper:
    case Kind::kConcatenate:
      return below;
    default:
      return std::nullopt;
  }
}

}  // namespace

VisitRatios visit_ratios(const Pipeline& pipeline, const CounterWindow& window,
                         const PerNode<std::optional<double>>* epoch) {
  return Visits(pipeline, window, epoch ? *epoch : program_cardinalities(pipeline)).run();
}

PerNode<std::optional<double>> program_cardinalities(const Pipeline& pipeline) {
  PerNode<std::optional<double>> known(pipeline.size());
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    known[n] = program_cardinality(pipeline[n], known);
  }
  return known;
}

}  // namespace plumber
