// SPDX-License-Identifier: Apache-2.0
#include "optimize/partial_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/above.h"
#include "ops/randomness.h"
#include "optimize/move_rules.h"

namespace plumber {
namespace {

bool keeps_cuts(Kind kind) {
  return kind == Kind::kMap || kind == Kind::kFilter || kind == Kind::kPrefetch;
}

bool reads_inner(Kind kind) { return kind == Kind::kFlatMap || kind == Kind::kInterleave; }

// The node that makes data sets of the list's entries, below `id`; nullopt: another op stands
// between.
std::optional<NodeId> reader_below(const Pipeline& p, NodeId id) {
  for (NodeId n = id;; n = p[n].inputs.front()) {
    if (reads_inner(p[n].kind)) return n;
    if (!keeps_cuts(p[n].kind) || p[n].inputs.size() != 1) return std::nullopt;
  }
}

bool file_after_file(const Node& reader) {
  return reader.kind == Kind::kFlatMap || reader.cycle_length == 1;
}

PerNode<Cardinality> cardinalities(const Analysis& analysis) {
  PerNode<Cardinality> all(analysis.nodes.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[static_cast<NodeId>(i)] = analysis.nodes[static_cast<NodeId>(i)].elements_per_epoch;
  return all;
}

double bytes_of(const Pipeline& p, const std::string& file) {
  const auto found = p.file_bytes.find(file);
  return found == p.file_bytes.end() ? 0 : found->second;
}

// Share of the first `count` files; by their number where a size is not known.
double share_of(const Pipeline& p, const std::vector<std::string>& files, std::size_t count) {
  double all = 0, first = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const double bytes = bytes_of(p, files[i]);
    if (!(bytes > 0)) return static_cast<double>(count) / static_cast<double>(files.size());
    all += bytes;
    if (i < count) first += bytes;
  }
  return first / all;
}

}  // namespace

std::string why_no_cut(const Pipeline& pipeline, const Analysis& analysis, NodeId id,
                       NodeId files) {
  const auto reader = reader_below(pipeline, id);
  if (!reader || pipeline[*reader].inputs.size() != 1 || pipeline[*reader].inputs.front() != files)
    return "more than maps, filters and prefetches stands between it and its list of files";
  if (pipeline[files].op != "TensorSliceDataset" || pipeline[files].file_names.size() < 2)
    return "its list of files is not spelled out in the program";
  const CacheVerdict& verdict = analysis.nodes[id].cache;
  if (verdict.cache_class != CacheClass::kExact || !verdict.legal) return verdict.reason;
  const Node& node = pipeline[*reader];
  if (node.threading == Threading::kParallelInterleave && !node.deterministic)
    return said(node) + " leaves its order to chance";
  if (file_after_file(node)) return "";
  if (what_stands_above(pipeline, cardinalities(analysis))[id].shuffle) return "";
  return fmt::format("{} reads several files at once, and no shuffle above mixes them anew",
                     said(node));
}

PartialCacheOffer partial_cache_at(const Pipeline& pipeline, const Analysis& analysis, NodeId id,
                                   double memory_bytes) {
  PartialCacheOffer offer;
  const auto reader = reader_below(pipeline, id);
  const double all = analysis.nodes[id].materialized_bytes.value_or(0);
  if (!reader || pipeline[*reader].inputs.size() != 1 || !(all > memory_bytes)) return offer;
  const NodeId files = pipeline[*reader].inputs.front();
  const std::vector<std::string>& names = pipeline[files].file_names;
  if (names.size() < 2) return offer;
  offer.why_not = why_no_cut(pipeline, analysis, id, files);
  if (!offer.why_not.empty()) return offer;
  std::size_t first = 0;
  while (first + 1 < names.size() && all * share_of(pipeline, names, first + 1) <= memory_bytes)
    ++first;
  if (first == 0) {
    offer.why_not = "not even its first file fits";
    return offer;
  }
  const double share = share_of(pipeline, names, first);
  const std::string order =
      file_after_file(pipeline[*reader])
          ? ""
          : "; other files are read side by side, which the shuffle above mixes";
  offer.cache = {files, static_cast<std::int64_t>(first), share, share * all, order};
  return offer;
}

}  // namespace plumber
