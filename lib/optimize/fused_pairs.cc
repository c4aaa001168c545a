// SPDX-License-Identifier: Apache-2.0
#include "optimize/fused_pairs.h"

#include <algorithm>
#include <optional>

#include "optimize/move_rules.h"

namespace plumber {
namespace {

std::optional<NodeId> batch_over(const Pipeline& pipeline, const std::vector<NodeId>& readers,
                                 NodeId id) {
  const Node& map = pipeline[id];
  if (map.kind != Kind::kMap || map.outer || readers.size() != 1) return {};
  const Node& above = pipeline[readers.front()];
  const bool plain = above.op == "BatchDatasetV2" && !above.outer;
  return plain ? std::optional(readers.front()) : std::nullopt;
}

bool parts_pair(const ModeChoice& mode) {
  const Mode how = mode.setting.mode;
  return mode.change != nullptr &&
         (how == Mode::kInline || how == Mode::kParallelInline || how == Mode::kParallelUnbounded);
}

}  // namespace

std::string why_no_new_pair(const Pipeline& moved) {
  const std::string why = why_errors_matter(moved);
  if (why.empty()) return "";
  const PerNode<std::vector<NodeId>> readers = consumers_of(moved);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (moved[id].new_reader && batch_over(moved, readers[id], id)) return why;
  }
  return "";
}

std::string why_pair_stays(const Problem& problem, NodeId id) {
  const bool pair = batch_over(*problem.pipeline, problem.consumers[id], id).has_value();
  return pair ? why_errors_matter(*problem.pipeline) : "";
}

void keep_fused_pairs(const Problem& problem, Choices& choices) {
  const std::string why = why_errors_matter(*problem.pipeline);
  if (why.empty()) return;
  for (std::size_t i = 0; i < choices.nodes.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const auto batch = batch_over(*problem.pipeline, problem.consumers[id], id);
    if (!batch) continue;
    NodeChoices& map = choices.nodes[id];
    if (std::erase_if(map.modes, parts_pair) > 0)
      choices.rejected.push_back({edit_word(EditKind::kInline), problem.node(id).name, why});
    map.take_last = map.take_last && map.modes.size() > 1;
    map.prefetch = false;
    map.cache_bytes.reset();
    map.disk_cache_bytes.reset();
    NodeChoices& above = choices.nodes[*batch];
    above.modes.resize(std::min<std::size_t>(above.modes.size(), 1));
    above.take_last = false;
  }
}

}  // namespace plumber
