// SPDX-License-Identifier: Apache-2.0
#include "optimize/unfused.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "optimize/move_rules.h"
#include "optimize/new_nodes.h"
#include "optimize/problem.h"

namespace plumber {
namespace {

struct TakenApart {
  Moved moved;
  std::string name;  // the batch keeps it
  std::string map;
  double call_s = 0;
};

TakenApart take_apart(const Moved& now, NodeId fused) {
  TakenApart apart;
  apart.moved = now;
  apart.name = now.pipeline[fused].name;
  const NodeCost& cost = now.analysis.costs.nodes[fused];
  if (cost.calls > 0) apart.call_s = cost.work_s / cost.calls;
  take_map_out(apart.moved, fused);
  apart.map = unfused_map_name(apart.name);
  refresh(apart.moved, {apart.name, apart.map});
  return apart;
}

Edit unfuse(const TakenApart& apart, std::string reason) {
  return {"", EditKind::kUnfuse, apart.name, "", {}, std::move(reason), {}, ""};
}

MoveCandidate alone(const TakenApart& apart) {
  MoveCandidate candidate;
  candidate.moved = apart.moved;
  candidate.node = apart.name;
  const std::string each = format_seconds(apart.call_s);
  const bool is_short = apart.call_s < kShortCall_s;
  candidate.edits = {unfuse(
      apart,
      is_short ? fmt::format("a call is {} of work, and is handed to a thread: alone, the map may "
                             "run where its elements are asked for",
                             each)
               : "map and batch may run on threads of their own, or have a cache between them")};
  if (!is_short)
    candidate.why_little =
        fmt::format("with {} of work a call, handing it to a thread costs little", each);
  return candidate;
}

bool is_about(const MoveCandidate& candidate, const std::string& map) {
  return std::ranges::any_of(candidate.edits,
                             [&](const Edit& edit) { return edit.node == map || edit.to == map; });
}

std::vector<NodeId> fused_nodes(const Moved& now) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < now.pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const bool ran = !never_ran(now.pipeline, now.analysis, id);
    if (is_fused(now.pipeline[id]) && ran) nodes.push_back(id);
  }
  return nodes;
}

}  // namespace

bool is_fused(const Node& node) { return node.kind == Kind::kMapBatch && !node.outer; }

std::string why_not_unfused(const Pipeline& pipeline, NodeId fused) {
  const Node& node = pipeline[fused];
  if (!node.function) return "its function is not known";
  if (!node.inner.empty()) return "its function makes data sets";
  if (find_node(pipeline, unfused_map_name(node.name))) return "the program has such a map already";
  return why_errors_matter(pipeline);
}

void add_unfused(const Moved& now, MoveCandidates& found) {
  for (const NodeId id : fused_nodes(now)) {
    const std::string why = why_not_unfused(now.pipeline, id);
    if (why.empty())
      found.legal.push_back(alone(take_apart(now, id)));
    else
      found.illegal.push_back({edit_word(EditKind::kUnfuse), now.pipeline[id].name, why});
  }
}

void add_beyond_unfused(const Moved& now, const OptimizeOptions& options, FindMoves find,
                        MoveCandidates& found) {
  for (const NodeId id : fused_nodes(now)) {
    if (!why_not_unfused(now.pipeline, id).empty()) continue;
    const TakenApart apart = take_apart(now, id);
    for (MoveCandidate& candidate : find(apart.moved, options).legal) {
      if (!is_about(candidate, apart.map)) continue;
      candidate.node = apart.name;
      candidate.edits.insert(candidate.edits.begin(),
                             unfuse(apart, "so that the map can go where the batch stays behind"));
      found.legal.push_back(std::move(candidate));
    }
  }
}

Pipeline with_map_taken_out(const Pipeline& pipeline, NodeId fused) {
  Moved moved{pipeline, {}};
  moved.analysis.nodes = PerNode<NodeAnalysis>(pipeline.size());
  moved.analysis.costs.nodes = PerNode<NodeCost>(pipeline.size());
  moved.analysis.setting = Setting(pipeline.size());
  take_map_out(moved, fused);
  return std::move(moved.pipeline);
}

}  // namespace plumber
