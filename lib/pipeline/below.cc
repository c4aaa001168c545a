// SPDX-License-Identifier: Apache-2.0
#include "pipeline/below.h"

#include <utility>

namespace plumber {

PerNode<std::vector<NodeId>> consumers_of(const Pipeline& pipeline) {
  PerNode<std::vector<NodeId>> consumers(pipeline.size());
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    for (const NodeId input : pipeline[id].inputs) consumers[input].push_back(id);
    for (const NodeId inner : pipeline[id].inner) consumers[inner].push_back(id);
  }
  return consumers;
}

std::vector<NodeId> all_below(const Pipeline& pipeline, std::vector<NodeId> from) {
  PerNode<char> seen(pipeline.size(), 0);
  std::vector<NodeId> below;
  while (!from.empty()) {
    const NodeId at = from.back();
    from.pop_back();
    if (std::exchange(seen[at], 1) != 0) continue;
    below.push_back(at);
    for (const NodeId input : pipeline[at].inputs) from.push_back(input);
    for (const NodeId inner : pipeline[at].inner) from.push_back(inner);
  }
  return below;
}

}  // namespace plumber
