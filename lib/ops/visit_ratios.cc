// SPDX-License-Identifier: Apache-2.0
#include "ops/visit_ratios.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/file_records.h"
#include "pipeline/iterator_names.h"

namespace plumber {
namespace {

// Of a batch's size: a mean so close to it is that of an epoch of many batches.
constexpr double kNearly = 0.98;

// Beyond this a program is damaged, and its products would leave the range of numbers.
constexpr double kMostVisits = 1e15;

using Count = std::optional<double>;

class Visits {
 public:
  Visits(const Pipeline& pipeline, const CounterWindow& window,
         PerNode<std::optional<double>> cardinality)
      : p_(pipeline),
        window_(window),
        program_(program_cardinalities(pipeline)),
        cardinality_(std::move(cardinality)),
        files_(pipeline) {
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
        if (!node.count && !p_.dumps.empty()) return pass_measured(n);
        return batch(n);
      case Kind::kFilter:
      case Kind::kShard:
      case Kind::kUnbatch:
      case Kind::kOpaque:
        return pass_measured(n);
      case Kind::kWindow:
        return window(n);
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
    // An input that was gone before the node has the node's count of that time beside it.
    const double with_input = counters[input].consumer_elements;
    return counters[input].elements / (with_input > 0 ? with_input : counters[n].elements);
  }

  // By whole passes, of which both numbers are known.
  std::optional<double> by_epochs(NodeId n, NodeId input) const {
    const auto own = cardinality_[n], below = cardinality_[input];
    return own && below && *own > 0 && *below > 0 ? Count(*below / *own) : Count();
  }

  // A snapshot that another run has written is read: what made it does not run.
  bool stands_still(NodeId n, NodeId input) const {
    return has_snapshot_parts(p_[n]) && p_[n].aligned && !p_[input].aligned;
  }

  void pass_measured(NodeId n) {
    for (const NodeId input : p_[n].inputs) {
      if (stands_still(n, input)) {
        add(n, input, 0, false);
        continue;
      }
      auto ratio = by_epochs(n, input);
      if (!ratio) ratio = measured(n, input);
      add(n, input, ratio.value_or(1), false);
      if (!ratio) out_.known[input] = false;
    }
    for (const NodeId inner : p_[n].inner) add(n, inner, 1, true);
  }

  // The last batch of an epoch is a short one: of few batches that counts. Elements that
  // drop_remainder leaves over are read all the same.
  void batch(NodeId n) {
    const double size = std::max<double>(1, static_cast<double>(p_[n].count.value_or(1)));
    const auto whole = p_[n].inputs.size() == 1 ? by_epochs(n, p_[n].inputs.front()) : Count();
    const bool short_batch = whole && *whole < kNearly * size;
    pass_all(n, short_batch ? *whole : size);
  }

  // Between the starts of two windows lie `shift` elements; the ends of an epoch are neglected.
  void window(NodeId n) {
    const Node& node = p_[n];
    const bool short_epochs = node.inputs.size() == 1 && by_epochs(n, node.inputs.front());
    if (short_epochs || node.shift.value_or(0) < 1) return pass_measured(n);
    pass_all(n, static_cast<double>(*node.shift));
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
      auto per_item = files_.records_per_file(n, input);
      if (!per_item) per_item = program_per_item(node, program_);
      auto ratio = per_item && *per_item > 0 ? Count(1 / *per_item) : by_epochs(n, input);
      if (!ratio) ratio = measured(n, input);
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

  // True if every part is read to its end in each epoch of known length.
  bool shares_by_program(NodeId n, const std::vector<NodeId>& parts) const {
    if (p_[n].kind != Kind::kConcatenate && p_[n].kind != Kind::kMixture) return false;
    double sum = 0;
    for (const NodeId part : parts) {
      if (!cardinality_[part]) return false;
      sum += *cardinality_[part];
    }
    return p_[n].kind == Kind::kConcatenate || (cardinality_[n] && *cardinality_[n] == sum);
  }

  // Shares by the program where it knows every part (a concatenation's epochs), else by counts.
  void share_among(NodeId n, const std::vector<NodeId>& parts, double total) {
    if (parts.size() == 1) return add(n, parts.front(), total, true);
    const auto sum_of = [&](auto&& value) {
      return std::accumulate(parts.begin(), parts.end(), 0.0,
                             [&](double sum, NodeId part) { return sum + value(part); });
    };
    const bool by_program = shares_by_program(n, parts);
    const auto weight = [&](NodeId part) {
      if (by_program) return cardinality_[part].value_or(0);
      return p_[n].kind == Kind::kMixture ? measured(n, part).value_or(0) : counted(part);
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
  PerNode<Count> program_;
  PerNode<Count> cardinality_;
  FileRecords files_;
  VisitRatios out_;
};

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

// A window starts every `shift` elements, and spans (size - 1) stride + 1 of them.
Count windows(const Node& node, const Count& below) {
  const auto size = static_cast<double>(node.count.value_or(0));
  const auto shift = static_cast<double>(node.shift.value_or(0));
  const auto stride = static_cast<double>(node.stride.value_or(0));
  if (!below || size < 1 || shift < 1 || stride < 1) return std::nullopt;
  if (!node.drop_remainder) return std::ceil(*below / shift);
  const double span = (size - 1) * stride + 1;
  return *below < span ? 0 : std::floor((*below - span) / shift) + 1;
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
    case Kind::kWindow:
      return windows(node, below);
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

std::optional<double> program_per_item(const Node& node,
                                       const PerNode<std::optional<double>>& program) {
  if (node.kind != Kind::kFlatMap && node.kind != Kind::kInterleave) return std::nullopt;
  return node.inner.size() == 1 ? program[node.inner.front()] : std::nullopt;
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
