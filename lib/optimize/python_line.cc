// SPDX-License-Identifier: Apache-2.0
#include "optimize/python_line.h"

#include <fmt/format.h>

#include "optimize/problem.h"
#include "optimize/unfused.h"
#include "pipeline/python_call.h"

namespace plumber {
namespace {

std::string position(const Pipeline& pipeline, const std::string& name) {
  const auto id = find_node(pipeline, name);
  if (!id) return "";
  const bool last = *id == last_node(pipeline);
  return last ? "at the end" : "after " + python_call(pipeline[*id]);
}

std::string integer_text(const EditValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number == nullptr ? "" : std::to_string(*number);
}

std::string options_line(const Edit& edit) {
  const std::string place = "options." + edit.to;
  if (const auto* flag = std::get_if<bool>(&edit.value)) {
    return place + (*flag ? " = True" : " = False");
  }
  if (const auto* text = std::get_if<std::string>(&edit.value)) {
    return fmt::format("{} = \"{}\"", place, *text);
  }
  const std::string number = integer_text(edit.value);
  return number.empty() ? "" : place + " = " + number;
}

std::string insertion(const Pipeline& pipeline, const Edit& edit, const std::string& call) {
  const std::string place = position(pipeline, edit.node);
  return place.empty() ? call : python_at(call, place);
}

/// `node`: both in one.
std::string map_then_batch(const Pipeline& apart, const Node& node) {
  const Node& map = apart[*find_node(apart, unfused_map_name(node.name))];
  const Node& batch = apart[*find_node(apart, node.name)];
  const std::int64_t calls = map.parallelism.value_or(kAutotune);
  std::string line =
      python_call_in_parallel(map, calls == kAutotune ? "tf.data.AUTOTUNE" : std::to_string(calls));
  line += python_call(batch);
  if (node.drop_remainder) line.insert(line.size() - 1, ", drop_remainder=True");
  return line;
}

std::string node_line(const Pipeline& pipeline, const Edit& edit) {
  const auto id = find_node(pipeline, edit.node);
  if (!id) return "";
  const Node& node = pipeline[*id];
  switch (edit.kind) {
    case EditKind::kConvert:
      if (edit.to == "RebatchDatasetV2") {
        const std::string size = node.count ? std::to_string(*node.count) : "...";
        return python_at(fmt::format(".rebatch({})", size), "for .unbatch()" + python_call(node));
      }
      [[fallthrough]];
    case EditKind::kSetParallelism:
    case EditKind::kParallelInline:
      return python_call_in_parallel(node, integer_text(edit.value));
    case EditKind::kParallelUnbounded:
      return python_call_on_own_threads(node, integer_text(edit.value));
    case EditKind::kPassThroughFilter:
      return integer_text(edit.value).empty()
                 ? ""
                 : python_call_in_parallel(node, integer_text(edit.value));
    case EditKind::kSequential:
      return python_call(node);
    case EditKind::kSetBuffer:
      return fmt::format(".{}({})", node.kind == Kind::kPrefetch ? "prefetch" : "shuffle",
                         integer_text(edit.value));
    case EditKind::kInsertPrefetch:
      return insertion(pipeline, edit, ".prefetch(" + integer_text(edit.value) + ")");
    case EditKind::kInsertCache:
      return insertion(pipeline, edit,
                       edit.to.empty() ? ".cache()" : ".cache(\"" + edit.to + "\")");
    case EditKind::kLengthenCycle: {
      Node longer = node;
      if (const auto* cycle = std::get_if<std::int64_t>(&edit.value)) longer.cycle_length = *cycle;
      return python_call(longer);
    }
    case EditKind::kReorder: {
      const auto map = find_node(pipeline, edit.to);
      const std::string call = python_call(node);
      return map ? python_at(call, "before " + python_call(pipeline[*map])) : call;
    }
    case EditKind::kRemove:
      return "# without " + python_call(node);
    case EditKind::kUnfuse:
      return map_then_batch(with_map_taken_out(pipeline, *id), node);
    default:
      return "";
  }
}

}  // namespace

std::string python_line(const Pipeline& pipeline, const Edit& edit) {
  return edit.kind == EditKind::kSetOptions ? options_line(edit) : node_line(pipeline, edit);
}

}  // namespace plumber
