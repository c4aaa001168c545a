// SPDX-License-Identifier: Apache-2.0
#include "optimize/cache_choices.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "lp/linear_program.h"
#include "ops/memory_ledger.h"

namespace plumber {
namespace {

/// What the cache rule says of a place, with the permissions that were given; empty: legal.
std::string why_illegal(const Problem& problem, NodeId id) {
  const CacheVerdict& verdict = problem.analysis->nodes[id].cache;
  const OptimizeOptions& options = *problem.options;
  if (options.left_out.contains(EditKind::kInsertCache)) return kLeftOut;
  if (options.strict_order && verdict.cache_class == CacheClass::kOrder) {
    return "it would narrow the distribution of the order, which --strict-order forbids";
  }
  if (verdict.legal) return "";
  const auto permission = permission_of(verdict.allow);
  if (permission && options.permissions.contains(*permission)) return "";
  if (!permission) return verdict.reason;
  return fmt::format("{}; --allow {}", verdict.reason, verdict.allow);
}

bool is_candidate(const Problem& problem, NodeId id) {
  const Node& node = problem.node(id);
  return !node.outer && node.kind != Kind::kWrapper && node.kind != Kind::kCache &&
         node.kind != Kind::kPrefetch;
}

/// A part of the program that several nodes read would still run for the others.
PerNode<char> above_shared(const Problem& problem) {
  PerNode<char> shared(problem.pipeline->size(), 0);
  for (std::size_t i = 0; i < problem.pipeline->size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    for (const NodeId input : problem.node(id).inputs) {
      if (shared[input] != 0 || problem.consumers[input].size() > 1) shared[id] = 1;
    }
  }
  return shared;
}

std::string why_not(const Problem& problem, NodeId id, double memory_bytes) {
  const NodeAnalysis& node = problem.analysis->nodes[id];
  const std::string illegal = why_illegal(problem, id);
  if (!illegal.empty()) return illegal;
  if (!node.materialized_bytes || *node.materialized_bytes <= 0) {
    return "the size of what it would hold is unknown";
  }
  if (cached_bytes(node) <= memory_bytes) return "";
  return fmt::format("it would hold {}, and {} of the budget are left",
                     format_bytes(cached_bytes(node)), format_bytes(std::max(0.0, memory_bytes)));
}

}  // namespace

void find_caches(const Problem& problem, double memory_bytes, Choices& choices) {
  if (!problem.options->allow_cache) return;
  const PerNode<bool> active = active_nodes(*problem.pipeline, problem.stock);
  const PerNode<char> shared = above_shared(problem);
  PerNode<double> smallest_above(problem.pipeline->size(), kInfinity);
  for (std::size_t i = problem.pipeline->size(); i-- > 0;) {
    const auto id = static_cast<NodeId>(i);
    double smallest = smallest_above[id];
    if (is_candidate(problem, id) && active[id]) {
      std::string reason = why_not(problem, id, memory_bytes);
      const double bytes = cached_bytes(problem.analysis->nodes[id]);
      const bool too_big = bytes > memory_bytes && why_illegal(problem, id).empty();
      if (too_big) choices.too_big.push_back(id);
      if (reason.empty() && shared[id] != 0)
        reason = "several nodes read a part of what is below it";
      if (reason.empty() && bytes >= smallest) {
        reason = "a cache further up holds no more and saves more";
      }
      if (reason.empty()) {
        choices.nodes[id].cache_bytes = bytes;
        smallest = bytes;
      } else {
        choices.rejected.push_back(
            {edit_word(EditKind::kInsertCache), problem.node(id).name, reason});
      }
    }
    for (const NodeId input : problem.node(id).inputs) {
      smallest_above[input] = std::min(smallest_above[input], smallest);
    }
  }
}

}  // namespace plumber
