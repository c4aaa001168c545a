// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/number_format.h"
#include "ops/rules.h"
#include "pipeline/python_call.h"

namespace plumber {
namespace {

using fmt::format;

constexpr double kWorthSaying_bytes = 64.0 * (1 << 20);
constexpr double kLarge_bytes = 1.0 * (1 << 30);
constexpr double kLargeShare = 0.25;  // of the machine's memory
constexpr double kGrowth = 4;
constexpr double kLargeConstants_bytes = 16.0 * (1 << 20);
constexpr double kRefused_bytes = 0x1p31;  // protobuf's limit

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

bool is_shuffle(const Node& node) {
  return node.kind == Kind::kShuffle || node.kind == Kind::kShuffleRepeat;
}

bool worth_saying(const Inspection& look, NodeId shuffle) {
  const Node& node = look.pipeline[shuffle];
  return is_shuffle(node) && !node.inputs.empty() && look.held_bytes[shuffle] >= kWorthSaying_bytes;
}

}  // namespace

void find_whole_shuffle(const Inspection& look, NodeId shuffle, std::vector<Remark>& found) {
  if (!worth_saying(look, shuffle)) return;
  const Node& node = look.pipeline[shuffle];
  const double bytes = look.held_bytes[shuffle];
  const auto& epoch = look.analysis.nodes[node.inputs.front()].elements_per_epoch;
  if (epoch.kind != Cardinality::Kind::kKnown ||
      static_cast<double>(node.buffer_size.value_or(0)) < epoch.elements)
    return;
  found.push_back(
      {{node.name},
       format("{} holds the whole epoch, and twice that while one epoch follows another",
              said(node)),
       format("buffer {} for {} elements an epoch: {}", *node.buffer_size,
              format_count(epoch.elements), of_memory(look, bytes)),
       std::nullopt,
       ".shuffle(N)  # with a smaller N, or below what makes elements large",
       !is_large(look, bytes)});
}

void find_grown_shuffle(const Inspection& look, NodeId shuffle, std::vector<Remark>& found) {
  if (!worth_saying(look, shuffle)) return;
  const auto small = smaller_below(look, shuffle);
  if (!small) return;
  const Node &node = look.pipeline[shuffle], &below = look.pipeline[*small];
  const double bytes = look.held_bytes[shuffle];
  const double each = look.analysis.nodes[shuffle].bytes_per_element;
  const double smaller = look.analysis.nodes[*small].bytes_per_element;
  found.push_back(
      {{node.name, below.name},
       format("{} holds elements of {}; right above {} they are {}", said(node), format_bytes(each),
              said(below), format_bytes(smaller)),
       format("{} now, {} there", of_memory(look, bytes), format_bytes(bytes / each * smaller)),
       std::nullopt,
       python_at(python_call(node), "right after " + python_call(below)),
       !is_large(look, bytes)});
}

void find_large_prefetch(const Inspection& look, NodeId prefetch, std::vector<Remark>& found) {
  const Node& node = look.pipeline[prefetch];
  const double bytes = look.held_bytes[prefetch];
  if (node.kind != Kind::kPrefetch || bytes < kWorthSaying_bytes || !is_large(look, bytes)) return;
  found.push_back(
      {{node.name},
       format("{} may hold a large part of the memory; two elements are enough to hide waiting",
              said(node)),
       of_memory(look, bytes),
       std::nullopt,
       ".prefetch(2)"});
}

// They stand in every copy of the program, TensorFlow's own included, and in the trace.
void find_constants(const Inspection& look, std::vector<Remark>& found) {
  double bytes = 0;
  Remark remark;
  for (const LargeConstant& constant : look.pipeline.large_constants) {
    bytes += constant.bytes;
    remark.nodes.push_back(constant.node);
  }
  if (bytes < kLargeConstants_bytes) return;
  remark.text =
      "the program itself holds data: every copy of it does, and TensorFlow refuses one of 2 GiB";
  remark.evidence = format("{} in {}", format_bytes(bytes),
                           counted(static_cast<double>(remark.nodes.size()), "constant"));
  remark.python = "# write the data into files and read these";
  remark.minor = bytes < kRefused_bytes / 2;
  found.push_back(std::move(remark));
}

}  // namespace plumber
