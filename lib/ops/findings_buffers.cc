// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/number_format.h"
#include "ops/inspection.h"

namespace plumber {
namespace {

using fmt::format;

constexpr double kWorthSaying_bytes = 64.0 * (1 << 20);
constexpr double kLarge_bytes = 1.0 * (1 << 30);
constexpr double kLargeShare = 0.25;  // of the machine's memory
constexpr double kGrowth = 4;

bool is_large(const Inspection& look, double bytes) {
  const double memory = look.pipeline.machine.memory_total_bytes;
  return bytes >= (memory > 0 ? kLargeShare * memory : kLarge_bytes);
}

std::string of_memory(const Inspection& look, double bytes) {
  const double memory = look.pipeline.machine.memory_total_bytes;
  return memory > 0 ? format("{}, {} of the machine's memory", format_bytes(bytes),
                             format_share(bytes / memory))
                    : format_bytes(bytes);
}

bool keeps_elements(const Node& node) {
  switch (node.kind) {
    case Kind::kMap:
    case Kind::kPass:
    case Kind::kPrefetch:
    case Kind::kCache:
    case Kind::kWrapper:
      return true;
    default:
      return false;
  }
}

// The lowest node below, 1:1 with the shuffle, whose elements are much smaller.
std::optional<NodeId> smaller_below(const Inspection& look, NodeId shuffle) {
  const Pipeline& p = look.pipeline;
  const auto bytes = [&](NodeId n) { return look.analysis.nodes[n].bytes_per_element; };
  std::optional<NodeId> best;
  for (NodeId at = shuffle; p[at].inputs.size() == 1;) {
    at = p[at].inputs.front();
    const bool smaller = bytes(at) > 0 && bytes(at) * kGrowth <= bytes(shuffle);
    if (smaller && (!best || bytes(at) <= bytes(*best))) best = at;
    if (!keeps_elements(p[at])) break;
  }
  return best;
}

void find_shuffle(const Inspection& look, NodeId n, std::vector<Finding>& found) {
  const Pipeline& p = look.pipeline;
  const double bytes = look.held_bytes[n];
  if (bytes < kWorthSaying_bytes || p[n].inputs.empty()) return;
  const auto& epoch = look.analysis.nodes[p[n].inputs.front()].elements_per_epoch;
  const bool whole = epoch.kind == Cardinality::Kind::kKnown &&
                     static_cast<double>(p[n].buffer_size.value_or(0)) >= epoch.elements;
  const Severity severity = is_large(look, bytes) ? Severity::kWarning : Severity::kHint;
  if (whole)
    found.push_back(
        {"shuffle-whole-epoch",
         severity,
         {p[n].name},
         format("{} holds the whole epoch, and twice that while one epoch follows another",
                said(p[n])),
         format("buffer {} for {} elements an epoch: {}", *p[n].buffer_size,
                format_count(epoch.elements), of_memory(look, bytes)),
         std::nullopt,
         ".shuffle(N) with a smaller N, or below what makes elements large"});
  if (const auto small = smaller_below(look, n)) {
    const double b = look.analysis.nodes[n].bytes_per_element;
    const double smaller = look.analysis.nodes[*small].bytes_per_element;
    found.push_back(
        {"shuffle-after-growth",
         severity,
         {p[n].name, p[*small].name},
         format("{} holds elements of {}; right above {} they are {}", said(p[n]), format_bytes(b),
                said(p[*small]), format_bytes(smaller)),
         format("{} now, {} there", of_memory(look, bytes), format_bytes(bytes / b * smaller)),
         std::nullopt,
         format("{} right after {}", written(p[n]), written(p[*small]))});
  }
}

void find_prefetch(const Inspection& look, NodeId n, std::vector<Finding>& found) {
  const Pipeline& p = look.pipeline;
  const double bytes = look.held_bytes[n];
  if (bytes < kWorthSaying_bytes || !is_large(look, bytes)) return;
  found.push_back(
      {"prefetch-large",
       Severity::kWarning,
       {p[n].name},
       format("{} may hold a large part of the memory; two elements are enough to hide waiting",
              said(p[n])),
       of_memory(look, bytes),
       std::nullopt,
       ".prefetch(2)"});
}

}  // namespace

void find_large_buffers(const Inspection& look, std::vector<Finding>& found) {
  for (std::size_t i = 0; i < look.pipeline.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    const Kind kind = look.pipeline[n].kind;
    if (kind == Kind::kShuffle || kind == Kind::kShuffleRepeat) find_shuffle(look, n, found);
    if (kind == Kind::kPrefetch) find_prefetch(look, n, found);
  }
}

}  // namespace plumber
