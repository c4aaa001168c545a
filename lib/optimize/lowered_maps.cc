// SPDX-License-Identifier: Apache-2.0
#include "optimize/lowered_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/number_format.h"
#include "optimize/move_rules.h"
#include "optimize/problem.h"

namespace plumber {
namespace {

constexpr int kMostLowered = 4;

using Readers = PerNode<std::vector<NodeId>>;

std::optional<NodeId> only_reader(const Readers& readers, NodeId id) {
  return readers[id].size() == 1 ? std::optional(readers[id].front()) : std::nullopt;
}

/// The shuffle, and the shuffles, repeats and prefetches right above it; lowest first.
std::vector<std::string> passed(const Pipeline& pipeline, NodeId shuffle) {
  const Readers readers = consumers_of(pipeline);
  std::vector<std::string> names = {pipeline[shuffle].name};
  for (auto above = only_reader(readers, shuffle); above; above = only_reader(readers, *above)) {
    const Kind kind = pipeline[*above].kind;
    if (kind != Kind::kRepeat && kind != Kind::kPrefetch && kind != Kind::kShuffle) break;
    names.push_back(pipeline[*above].name);
  }
  return names;
}

/// The map that reads the topmost of them and may go below them all.
std::optional<NodeId> map_to_lower(const Pipeline& pipeline,
                                   const std::vector<std::string>& under) {
  const auto map = only_reader(consumers_of(pipeline), *find_node(pipeline, under.back()));
  if (!map || pipeline[*map].kind != Kind::kMap || pipeline[*map].inputs.size() != 1) return {};
  const auto objects = [&](const std::string& name) {
    return !objection_to_reorder(pipeline, *map, *find_node(pipeline, name)).reason.empty();
  };
  return std::ranges::any_of(under, objects) ? std::nullopt : map;
}

std::string why_lowered(const Moved& before, const Moved& after, const std::string& shuffle) {
  const auto bytes = [&](const Moved& moved) {
    const NodeId id = *find_node(moved.pipeline, shuffle);
    return format_bytes(moved.analysis.nodes[id].bytes_per_element);
  };
  return fmt::format(
      "places are drawn without a look at the elements: the map may as well be called before them, "
      "where a cache can keep what it makes; the shuffle then holds elements of {}, not {}",
      bytes(after), bytes(before));
}

}  // namespace

void add_lowered_maps(const Moved& now, const OptimizeOptions& options, NodeId shuffle,
                      MoveCandidates& found) {
  if (!options.allow_cache) return;
  const std::vector<std::string> under = passed(now.pipeline, shuffle);
  Moved moved = now;
  std::vector<Edit> edits;
  std::set<std::string> changed = {under.begin(), under.end()};
  for (int count = 0; count < kMostLowered; ++count) {
    const auto map = map_to_lower(moved.pipeline, under);
    if (!map) return;
    const std::string name = moved.pipeline[*map].name;
    for (const std::string& below : under | std::views::reverse) {
      lower_map(moved, *find_node(moved.pipeline, name), *find_node(moved.pipeline, below));
      edits.push_back({"",
                       EditKind::kReorder,
                       name,
                       below,
                       {},
                       fmt::format("it goes on below {}", under.front()),
                       {},
                       ""});
    }
    changed.insert(name);
    refresh(moved, changed);
    edits.back().reason = why_lowered(now, moved, under.front());
    const CacheVerdict& cache = moved.analysis.nodes[*find_node(moved.pipeline, name)].cache;
    if (!cache.legal || cache.cache_class != CacheClass::kExact) continue;
    MoveCandidate candidate;
    candidate.moved = moved;
    candidate.edits = edits;
    candidate.node = name;
    found.legal.push_back(std::move(candidate));
  }
}

}  // namespace plumber
