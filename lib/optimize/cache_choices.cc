// SPDX-License-Identifier: Apache-2.0
#include "optimize/cache_choices.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "lp/linear_program.h"
#include "ops/memory_ledger.h"
#include "ops/randomness.h"

namespace plumber {
namespace {

constexpr const char* kItsOwn = "that is the program's own cache, which is taken out";

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

/// In an epoch.
double elements_of(const Problem& problem, NodeId id) {
  const NodeAnalysis& node = problem.analysis->nodes[id];
  const double bytes = node.materialized_bytes.value_or(0);
  return node.bytes_per_element > 0 ? bytes / node.bytes_per_element : 0;
}

/// The same of a file; empty: it may stand there.
std::string why_no_file(const Problem& problem, NodeId id) {
  const DiskCache& disk = *problem.machine.disk_cache;
  const double elements = elements_of(problem, id);
  if (elements > kMostFileCacheElements) {
    return fmt::format("TensorFlow writes at most {} elements into one file, and these are {}",
                       format_count(kMostFileCacheElements), format_count(elements));
  }
  const double bytes = filed_bytes(problem, id);
  if (bytes <= disk.room_bytes) return "";
  return fmt::format("it would hold {}, and {} has room for {}", format_bytes(bytes), disk.folder,
                     format_bytes(disk.room_bytes));
}

/// Places for one kind of cache, from the consumer down: those that hold less than all above them.
class Places {
 public:
  explicit Places(const Problem& problem)
      : problem_(problem),
        active_(active_nodes(*problem.pipeline, problem.stock)),
        shared_(above_shared(problem)) {}

  /// bytes(id): what a cache holds there. reason(id): why it must not stand there. take(id, bytes),
  /// reject(id, reason).
  template <class Bytes, class Reason, class Take, class Reject>
  void find(const Bytes& bytes_of, const Reason& reason_of, const Take& take,
            const Reject& reject) const {
    PerNode<Place> smallest_above(problem_.pipeline->size());
    for (std::size_t i = problem_.pipeline->size(); i-- > 0;) {
      const auto id = static_cast<NodeId>(i);
      Place smallest = smallest_above[id];
      if (is_candidate(problem_, id) && active_[id]) {
        std::string reason = reason_of(id);
        if (reason.empty() && shared_[id] != 0)
          reason = "several nodes read a part of what is below it";
        const double bytes = bytes_of(id);
        if (reason.empty() && bytes >= smallest.bytes)
          reason = fmt::format("{} here; after {}, further up, it holds {} and saves more",
                               format_bytes(bytes), said(problem_.node(smallest.id)),
                               format_bytes(smallest.bytes));
        if (reason.empty()) {
          take(id, bytes);
          smallest = {id, bytes};
        } else {
          reject(id, reason);
        }
      }
      for (const NodeId input : problem_.node(id).inputs)
        if (smallest.bytes < smallest_above[input].bytes) smallest_above[input] = smallest;
    }
  }

 private:
  struct Place {
    NodeId id{};
    double bytes = kInfinity;
  };

  const Problem& problem_;
  PerNode<bool> active_;
  PerNode<char> shared_;
};

}  // namespace

double filed_bytes(const Problem& problem, NodeId id) {
  return file_cache_bytes({elements_of(problem, id), problem.node(id).components},
                          problem.analysis->nodes[id].bytes_per_element);
}

void find_caches(const Problem& problem, double memory_bytes, Choices& choices) {
  if (!problem.options->allow_cache) return;
  const Places places(problem);
  const auto reject = [&](NodeId id, const std::string& reason) {
    choices.rejected.push_back({edit_word(EditKind::kInsertCache), problem.node(id).name, reason});
  };
  places.find([&](NodeId id) { return cached_bytes(problem.analysis->nodes[id]); },
              [&](NodeId id) {
                if (problem.node(id).cache_removed) return std::string(kItsOwn);
                const bool too_big = cached_bytes(problem.analysis->nodes[id]) > memory_bytes;
                if (too_big && why_illegal(problem, id).empty()) choices.too_big.push_back(id);
                return why_not(problem, id, memory_bytes);
              },
              [&](NodeId id, double bytes) { choices.nodes[id].cache_bytes = bytes; }, reject);
  // A program that is over its memory only shrinks.
  if (!problem.machine.disk_cache || memory_bytes < 0) return;
  places.find([&](NodeId id) { return filed_bytes(problem, id); },
              [&](NodeId id) {
                // What is true of both is said once.
                const std::string known = why_not(problem, id, kInfinity);
                return known.empty() ? why_no_file(problem, id) : known;
              },
              [&](NodeId id, double bytes) { choices.nodes[id].disk_cache_bytes = bytes; },
              [&](NodeId id, const std::string& reason) {
                if (why_not(problem, id, kInfinity).empty()) reject(id, kOnDisk + reason);
              });
}

}  // namespace plumber
