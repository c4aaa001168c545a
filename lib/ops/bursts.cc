// SPDX-License-Identifier: Apache-2.0
#include "ops/bursts.h"

#include <algorithm>

#include "pipeline/below.h"

namespace plumber {
namespace {

constexpr double kRead_bytes = 256 << 10;  // TensorFlow's readers of records
constexpr double kWaits = 0.5;
constexpr double kBlocksAhead = 2;

struct Readers {
  double cpu_s = 0;
  double wait_share = 0;  // of their time
  double burst = 0;       // records of a read
};

Readers readers_below(const Costs& costs, const std::vector<NodeId>& inner) {
  Readers readers;
  double work_s = 0, records = 0, bytes = 0;
  for (const NodeId id : inner) {
    const NodeCost& cost = costs.nodes[id];
    work_s += cost.work_s;
    readers.cpu_s += cost.cpu_s;
    bytes += cost.disk_bytes;
    if (cost.disk_bytes > 0) records += cost.elements;
  }
  if (work_s > 0) readers.wait_share = std::max(0.0, 1 - readers.cpu_s / work_s);
  if (bytes > 0) readers.burst = records * kRead_bytes / bytes;
  return readers;
}

double records_ahead(const Node& interleave) {
  if (interleave.buffer_size.value_or(0) > 0) return static_cast<double>(*interleave.buffer_size);
  return kBlocksAhead *
         static_cast<double>(std::max<std::int64_t>(1, interleave.block_length.value_or(1)));
}

}  // namespace

void add_bursts(const Pipeline& pipeline, const Costs& costs, const Setting& setting,
                Evaluation& result) {
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = pipeline[id];
    if (node.kind != Kind::kInterleave || !is_parallel(setting[id].mode) || !node.deterministic ||
        setting[id].cached)
      continue;
    const std::vector<NodeId> inner = all_below(pipeline, node.inner);
    const Readers readers = readers_below(costs, inner);
    const double ahead = records_ahead(node);
    if (readers.wait_share < kWaits || readers.burst <= ahead) continue;
    if (!active_nodes(pipeline, setting)[id]) continue;
    const auto is_inner = [&](const Bound& bound) {
      return bound.kind == BoundKind::kThread && !bound.nodes.empty() &&
             std::ranges::count(inner, bound.nodes.front()) > 0;
    };
    const auto own = std::ranges::find_if(result.bounds, is_inner);
    if (own == result.bounds.end()) continue;
    double rest_s = 0;
    for (const Bound& bound : result.bounds) {
      const bool cores = bound.kind == BoundKind::kCpu && result.cpu_s > 0;
      const double share = cores ? std::max(0.0, 1 - readers.cpu_s / result.cpu_s) : 1;
      if (!is_inner(bound)) rest_s = std::max(rest_s, share / bound.bound_per_s);
    }
    const double period_s =
        1 / own->bound_per_s + readers.wait_share * (1 - ahead / readers.burst) * rest_s;
    own->bound_per_s = 1 / period_s;
    result.period_s = std::max(result.period_s, period_s);
    std::ranges::stable_sort(result.bounds, {}, &Bound::bound_per_s);
  }
}

}  // namespace plumber
