// SPDX-License-Identifier: Apache-2.0
#include "ops/buffer_levels.h"

#include <algorithm>

namespace plumber {
namespace {

constexpr double kEmpty = 0.2, kFull = 0.8;
constexpr std::size_t kFewDumps = 3;  // one look says nothing of the time before it

// Elements that it may hold; 0: no buffer, or not known.
double capacity_of(const Node& node) {
  if (node.kind == Kind::kPrefetch) {
    if (node.traced_buffer_size) return *node.traced_buffer_size;
    return static_cast<double>(std::max<std::int64_t>(0, node.buffer_size.value_or(0)));
  }
  const bool calls = node.threading == Threading::kParallelCalls && node.kind == Kind::kMap;
  if (!calls) return 0;
  if (node.traced_parallelism) return *node.traced_parallelism;
  return static_cast<double>(std::max<std::int64_t>(0, node.parallelism.value_or(0)));
}

Level level_of(const BufferLevel& buffer) {
  const double share = buffer.mean / buffer.capacity;
  return share <= kEmpty ? Level::kEmpty : share >= kFull ? Level::kFull : Level::kBetween;
}

}  // namespace

std::vector<BufferLevel> buffer_levels(const Pipeline& pipeline) {
  std::vector<BufferLevel> buffers;
  if (pipeline.dialect != Dialect::kModel || pipeline.dumps.empty()) return buffers;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    BufferLevel buffer;
    buffer.node = static_cast<NodeId>(i);
    const Node& node = pipeline[buffer.node];
    buffer.capacity = capacity_of(node);
    if (!(buffer.capacity > 0) || node.outer) continue;
    if (!(pipeline.dumps.back().counters[buffer.node].elements > 0)) continue;
    buffer.autotuned = node.autotuned;
    double sum = 0;
    for (const PipelineDump& dump : pipeline.dumps) {
      buffer.fills.push_back(dump.counters[buffer.node].buffered_elements);
      sum += buffer.fills.back();
    }
    const auto [least, most] = std::ranges::minmax(buffer.fills);
    buffer.least = least, buffer.most = most;
    // A recorder that polls notes every buffer that ever held an element.
    const double of_dumps = sum / static_cast<double>(buffer.fills.size());
    buffer.mean = node.buffer_fill.value_or(pipeline.recorder ? 0 : of_dumps);
    if (!pipeline.recorder && buffer.fills.size() < kFewDumps) continue;
    buffer.level = level_of(buffer);
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

}  // namespace plumber
