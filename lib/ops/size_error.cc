// SPDX-License-Identifier: Apache-2.0
#include "ops/size_error.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/epoch_counts.h"
#include "ops/file_records.h"
#include "ops/visit_ratios.h"

namespace plumber {
namespace {

constexpr double kInterval = 2;  // 95 %
constexpr double kElementSpread = 0.5;
constexpr double kUnknownSpread = 0.5;
constexpr double kAssumedItems = 3;  // of unknown spread, beside those that were seen
constexpr double kFraming = 0.01;

double both(double a, double b) { return std::sqrt(a * a + b * b); }

class SizeErrors {
 public:
  SizeErrors(const Pipeline& pipeline, const PerNode<NodeAnalysis>& nodes)
      : p_(pipeline),
        nodes_(nodes),
        programs_(program_cardinalities(pipeline)),
        counts_(epoch_counts(pipeline)),
        files_(pipeline),
        counted_(pipeline.size(), 0) {}

  PerNode<std::optional<SizeError>> run() {
    PerNode<std::optional<SizeError>> errors(p_.size());
    if (p_.dumps.empty()) return errors;
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const auto n = static_cast<NodeId>(i);
      counted_[n] = p_[n].outer ? 0 : of_elements(n);
      if (p_[n].outer || nodes_[n].elements_per_epoch.kind != Cardinality::Kind::kKnown) continue;
      errors[n] = SizeError{counted_[n], of_bytes(n)};
    }
    return errors;
  }

 private:
  const Counters& counters(NodeId n) const { return p_.dumps.back().counters[n]; }

  // Of a pass of the node, the share that was not seen.
  double unseen(NodeId n) const {
    const double all = nodes_[n].elements_per_epoch.elements;
    return all > 0 ? std::max(0.0, 1 - seen(n) / all) : 0;
  }

  double seen(NodeId n) const { return std::max(1.0, counters(n).elements); }

  double of_elements(NodeId n) const {
    if (programs_[n] || counts_[n]) return 0;
    double below = 0;
    for (const NodeId input : p_[n].inputs) below = std::max(below, counted_[input]);
    switch (p_[n].kind) {
      case Kind::kFileSource:
        return std::sqrt(unseen(n) / seen(n)) * kInterval;
      case Kind::kFlatMap:
      case Kind::kInterleave:
        return both(below, of_items(n));
      case Kind::kFilter:
      case Kind::kShard:
      case Kind::kUnbatch:
      case Kind::kGroup:
      case Kind::kOpaque:
        return both(below, of_ratio(n));
      default:
        return below;
    }
  }

  double of_items(NodeId n) const {
    if (p_[n].inputs.empty() || program_per_item(p_[n], programs_)) return 0;
    if (files_.reader(n) && files_.records_per_file(n, p_[n].inputs.front()))
      return kInterval * std::sqrt(unseen(n) / seen(n));
    const double items = p_[n].inner.empty() ? 0 : counters(p_[n].inner.front()).gone_iterators;
    const double opened = std::max(items, 1.0);
    return interval(items) * spread(n, items) * std::sqrt(unseen(n) / opened);
  }

  // Half a 95 % interval of Student's t, for the mean of so many.
  static double interval(double items) {
    constexpr std::array kQuantiles{4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
    const double degrees = std::max(0.0, items - 3);
    return degrees < kQuantiles.size() ? kQuantiles[static_cast<std::size_t>(degrees)] : kInterval;
  }

  // Standard deviation over mean of what the items made that were read to their end. Of items read
  // side by side the short ones end first and resemble each other: few of them count beside others
  // of unknown spread.
  double spread(NodeId n, double items) const {
    if (items < 3) return kUnknownSpread;
    const Counters& inner = counters(p_[n].inner.front());
    const double mean = inner.gone_elements / items;
    const double square = inner.gone_squares / items - mean * mean;
    if (!(mean > 0)) return kUnknownSpread;
    const double seen = std::max(0.0, square) * items / (items - 1) / (mean * mean);
    const double assumed = kUnknownSpread * kUnknownSpread;
    return std::sqrt((items * seen + kAssumedItems * assumed) / (items + kAssumedItems));
  }

  double of_ratio(NodeId n) const {
    if (p_[n].inputs.empty()) return 0;
    const double ratio = seen(n) / seen(p_[n].inputs.front());
    const double varies = ratio < 1 ? 1 - ratio : kElementSpread * kElementSpread;
    return kInterval * std::sqrt(unseen(n) * varies / seen(n));
  }

  double of_bytes(NodeId n) const {
    const bool records = p_[n].kind == Kind::kFileSource ||
                         (files_.reader(n) && !p_[n].inputs.empty() && of_reader(n) &&
                          files_.records_per_file(n, p_[n].inputs.front()));
    if (records) return kFraming;
    return both(counted_[n], kInterval * kElementSpread * std::sqrt(unseen(n) / seen(n)));
  }

  // The node hands its reader's records on as they are.
  bool of_reader(NodeId n) const {
    const double own = nodes_[n].bytes_per_element;
    const double read = nodes_[*files_.reader(n)].bytes_per_element;
    return own > 0 && std::abs(read / own - 1) < 0.05;
  }

  const Pipeline& p_;
  const PerNode<NodeAnalysis>& nodes_;
  PerNode<std::optional<double>> programs_;
  PerNode<std::optional<EpochCount>> counts_;
  FileRecords files_;
  PerNode<double> counted_;  // error of the node's elements
};

}  // namespace

PerNode<std::optional<SizeError>> size_errors(const Pipeline& pipeline,
                                              const PerNode<NodeAnalysis>& nodes) {
  return SizeErrors(pipeline, nodes).run();
}

}  // namespace plumber
