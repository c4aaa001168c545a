// SPDX-License-Identifier: Apache-2.0
#include "optimize/fused_pairs.h"

#include <algorithm>
#include <optional>

#include "optimize/move_rules.h"

namespace plumber {
namespace {

std::optional<NodeId> batch_over(const Problem& problem, NodeId id) {
  const Node& map = problem.node(id);
  if (map.kind != Kind::kMap || map.outer || problem.consumers[id].size() != 1) return {};
  const NodeId above = problem.consumers[id].front();
  const bool plain = problem.node(above).op == "BatchDatasetV2" && !problem.node(above).outer;
  return plain ? std::optional(above) : std::nullopt;
}

bool parts_pair(const ModeChoice& mode) {
  return mode.change != nullptr &&
         (mode.setting.mode == Mode::kInline || mode.setting.mode == Mode::kParallelInline);
}

}  // namespace

void keep_fused_pairs(const Problem& problem, Choices& choices) {
  const std::string why = why_errors_matter(*problem.pipeline);
  if (why.empty()) return;
  for (std::size_t i = 0; i < choices.nodes.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const auto batch = batch_over(problem, id);
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
