// SPDX-License-Identifier: Apache-2.0
// A cache of a part of an epoch, where the whole does not fit: the list of files is cut, what the
// first files give is kept in memory, the rest is made anew in each epoch:
//
//   files -> chain          becomes    files -> take(k) -> chain -> cache
//                                      files -> skip(k) -> chain            concatenated
//
// The chain holds only maps, filters and prefetches above one flat_map or an interleave, all exact.
// If it reads file after file (flat_map, cycle_length 1), chain(a, b) = chain(a), chain(b): the
// same elements in the same order. An interleave that reads several at once mixes others with each
// other at the cut: allowed only where a shuffle above draws a new order in each epoch.
//
// hit share h = bytes of the first k files / bytes of all; the rate is 1 / (h t_hit + (1 - h) t).
#pragma once

#include <optional>
#include <string>

#include "optimize/moved.h"
#include "optimize/optimize.h"

namespace plumber {

struct PartialCache {
  NodeId files{};  // the list
  std::int64_t first = 0;
  double hit_share = 0;
  double bytes = 0;
  std::string order;  // what it costs; empty: nothing
};

/// The largest one above `id` that fits into `memory_bytes`; nullopt with a reason, or without one
/// where the question does not arise.
struct PartialCacheOffer {
  std::optional<PartialCache> cache;
  std::string why_not;
};
PartialCacheOffer partial_cache_at(const Pipeline& pipeline, const Analysis& analysis, NodeId id,
                                   double memory_bytes);

/// Why `files` cannot be cut below a cache above `id`; empty: it can.
std::string why_no_cut(const Pipeline& pipeline, const Analysis& analysis, NodeId id, NodeId files);

}  // namespace plumber
