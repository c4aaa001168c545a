// SPDX-License-Identifier: Apache-2.0
#include "ops/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "ops/inspection.h"
#include "ops/memory_ledger.h"

namespace plumber {
namespace {

constexpr double kLeastGain = 0.02;

const char* method(const Node& node) {
  switch (node.kind) {
    case Kind::kMap:
    case Kind::kMapBatch:
      return "map";
    case Kind::kFilter:
      return "filter";
    case Kind::kFlatMap:
      return "flat_map";
    case Kind::kInterleave:
      return "interleave";
    case Kind::kPrefetch:
      return "prefetch";
    case Kind::kShuffle:
    case Kind::kShuffleRepeat:
      return "shuffle";
    case Kind::kBatch:
      return node.op.starts_with("Padded") ? "padded_batch" : "batch";
    case Kind::kCache:
      return "cache";
    case Kind::kTake:
      return "take";
    case Kind::kUnbatch:
      return "unbatch";
    default:
      return "";
  }
}

PerNode<Cardinality> epochs(const Analysis& a) {
  PerNode<Cardinality> elements(a.nodes.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    elements[n] = a.nodes[n].elements_per_epoch;
  }
  return elements;
}

}  // namespace

Inspection inspect(const Pipeline& pipeline, const Analysis& analysis) {
  const Machine machine{analysis.cores};
  Evaluation now;
  if (!pipeline.dumps.empty()) now = evaluate(pipeline, analysis.costs, analysis.setting, machine);
  return {pipeline,
          analysis,
          machine,
          std::move(now),
          randomness_below(pipeline, false),
          what_stands_above(pipeline, epochs(analysis)),
          held_bytes(pipeline, analysis.memory)};
}

std::optional<double> gain_per_s(const Inspection& look, const Setting& changed) {
  if (!(look.now.period_s > 0)) return std::nullopt;
  const double period_s =
      evaluate(look.pipeline, look.analysis.costs, changed, look.machine).period_s;
  if (!(period_s > 0) || period_s * (1 + kLeastGain) > look.now.period_s) return std::nullopt;
  return 1 / period_s - 1 / look.now.period_s;
}

std::string share_of_period(const Inspection& look, double part_s) {
  return format_share(look.now.period_s > 0 ? part_s / look.now.period_s : 0);
}

std::string written(const Node& node) {
  const std::string name = method(node);
  if (name.empty()) return said(node);
  const std::string argument = node.function ? node.function->source_name : "";
  if (!argument.empty()) return fmt::format(".{}({})", name, argument);
  const auto number =
      node.kind == Kind::kBatch || node.kind == Kind::kTake ? node.count : node.buffer_size;
  return number && node.kind != Kind::kInterleave ? fmt::format(".{}({})", name, *number)
                                                  : fmt::format(".{}()", name);
}

std::vector<Finding> findings(const Pipeline& pipeline, const Analysis& analysis) {
  const Inspection look = inspect(pipeline, analysis);
  std::vector<Finding> found;
  find_cache_faults(look, found);
  find_large_buffers(look, found);
  find_odd_shapes(look, found);
  find_odd_order(look, found);
  find_slow_parts(look, found);
  std::ranges::stable_sort(found, [](const Finding& a, const Finding& b) {
    const double gain_a = a.gain_per_s.value_or(0), gain_b = b.gain_per_s.value_or(0);
    return gain_a != gain_b ? gain_a > gain_b : a.severity < b.severity;
  });
  return found;
}

}  // namespace plumber
