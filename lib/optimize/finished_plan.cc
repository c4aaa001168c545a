// SPDX-License-Identifier: Apache-2.0
#include "optimize/finished_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "optimize/python_line.h"
#include "optimize/unfused.h"

namespace plumber {

void add_housekeeping(const Pipeline& pipeline, Plan& plan) {
  for (const Node& node : pipeline.nodes) {
    const bool in_memory = node.op == "CacheDatasetV2" && node.cache_file.empty() && !node.outer;
    const auto removes = [&](const Edit& edit) {
      return edit.kind == EditKind::kRemove && edit.node == node.name;
    };
    if (!in_memory || std::any_of(plan.edits.begin(), plan.edits.end(), removes)) continue;
    plan.edits.push_back({"",
                          EditKind::kRehomeCache,
                          node.name,
                          "",
                          {},
                          "its handle is a name: after a reload it could serve another data "
                          "set's elements",
                          {},
                          ""});
  }
  const auto is_set = [&](const std::string& path) {
    return std::any_of(plan.edits.begin(), plan.edits.end(), [&](const Edit& edit) {
      return edit.kind == EditKind::kSetOptions && edit.to == path;
    });
  };
  for (const std::string& path : pipeline.recorder_options) {
    if (is_set(path)) continue;  // by the plan
    plan.edits.push_back(
        {"", EditKind::kSetOptions, "", path, {}, "set by the tracer, not by you", {}, ""});
  }
}

void number_edits(const Pipeline& pipeline, Plan& plan) {
  int number = 0;
  std::optional<Pipeline> changed;  // later lines repeat what earlier ones have changed
  for (Edit& edit : plan.edits) {
    edit.id = fmt::format("E{}", ++number);
    edit.python = python_line(changed ? *changed : pipeline, edit);
    if (edit.kind != EditKind::kLengthenCycle && edit.kind != EditKind::kUnfuse) continue;
    if (!changed) changed = pipeline;
    const NodeId node = *find_node(*changed, edit.node);
    if (edit.kind == EditKind::kUnfuse) changed = with_map_taken_out(*changed, node);
    const auto* cycle = std::get_if<std::int64_t>(&edit.value);
    if (edit.kind == EditKind::kLengthenCycle && cycle) (*changed)[node].cycle_length = *cycle;
  }
}

}  // namespace plumber
