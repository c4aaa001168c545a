// SPDX-License-Identifier: Apache-2.0
#include "optimize/python_line.h"

#include <fmt/format.h>

#include <vector>

#include "optimize/problem.h"

namespace plumber {
namespace {

bool starts_with(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

std::string number_or(const std::optional<std::int64_t>& value, const std::string& otherwise) {
  return value ? std::to_string(*value) : otherwise;
}

std::vector<std::string> interleave_arguments(const Node& node) {
  std::vector<std::string> arguments;
  if (node.cycle_length && *node.cycle_length > 0) {
    arguments.push_back(fmt::format("cycle_length={}", *node.cycle_length));
  }
  if (node.block_length && *node.block_length > 1) {
    arguments.push_back(fmt::format("block_length={}", *node.block_length));
  }
  return arguments;
}

std::string method_of(const Node& node) {
  switch (node.kind) {
    case Kind::kMap:
      return ".map";
    case Kind::kFilter:
      return ".filter";
    case Kind::kFlatMap:
      return ".flat_map";
    case Kind::kInterleave:
      return ".interleave";
    case Kind::kPrefetch:
      return ".prefetch";
    case Kind::kShuffle:
    case Kind::kShuffleRepeat:
      return ".shuffle";
    case Kind::kRepeat:
      return ".repeat";
    case Kind::kTake:
      return ".take";
    case Kind::kSkip:
      return ".skip";
    case Kind::kShard:
      return ".shard";
    case Kind::kBatch:
      return starts_with(node.op, "Padded") ? ".padded_batch" : ".batch";
    case Kind::kMapBatch:
      return ".map";
    case Kind::kZip:
      return "tf.data.Dataset.zip";
    case Kind::kConcatenate:
      return ".concatenate";
    case Kind::kCache:
      return ".cache";
    case Kind::kUnbatch:
      return ".unbatch";
    case Kind::kWindow:
      return ".window";
    case Kind::kScan:
      return ".scan";
    case Kind::kTakeWhile:
      return ".take_while";
    case Kind::kGroup:
      return ".group_by_window";
    default:
      break;
  }
  const std::size_t end = node.op.find("Dataset");
  return "tf.data." + (end == std::string::npos ? node.op : node.op.substr(0, end) + "Dataset");
}

std::string first_argument(const Node& node) {
  if (node.function) {
    const std::string& name = node.function->source_name;
    return name.empty() || name == "lambda" ? "..." : name;
  }
  switch (node.kind) {
    case Kind::kPrefetch:
    case Kind::kShuffle:
    case Kind::kShuffleRepeat:
      return number_or(node.buffer_size, "...");
    case Kind::kRepeat:
      return node.count && *node.count >= 0 ? std::to_string(*node.count) : "";
    case Kind::kTake:
    case Kind::kSkip:
    case Kind::kBatch:
    case Kind::kWindow:
      return number_or(node.count, "...");
    case Kind::kCache:
    case Kind::kUnbatch:
      return "";
    default:
      return "...";
  }
}

std::string call_of(const Node& node, const std::string& argument) {
  std::vector<std::string> arguments;
  const std::string first = first_argument(node);
  if (!first.empty()) arguments.push_back(first);
  if (node.kind == Kind::kInterleave) {
    for (std::string& more : interleave_arguments(node)) arguments.push_back(std::move(more));
  }
  if (!argument.empty()) arguments.push_back(argument);
  return fmt::format("{}({})", method_of(node), fmt::join(arguments, ", "));
}

std::string position(const Pipeline& pipeline, const std::string& name) {
  const auto id = find_node(pipeline, name);
  if (!id) return "";
  const bool last = *id == last_node(pipeline);
  return last ? "  # at the end" : "  # after " + python_call(pipeline, *id);
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

std::string node_line(const Pipeline& pipeline, const Edit& edit) {
  const auto id = find_node(pipeline, edit.node);
  if (!id) return "";
  switch (edit.kind) {
    case EditKind::kConvert:
      if (edit.to == "RebatchDatasetV2")
        return fmt::format(".rebatch({})  # for .unbatch(){}", first_argument(pipeline[*id]),
                           python_call(pipeline, *id));
      [[fallthrough]];
    case EditKind::kSetParallelism:
    case EditKind::kParallelInline:
      return python_call(pipeline, *id, "num_parallel_calls=" + integer_text(edit.value));
    case EditKind::kSequential:
      return python_call(pipeline, *id);
    case EditKind::kSetBuffer:
      return fmt::format("{}({})", method_of(pipeline[*id]), integer_text(edit.value));
    case EditKind::kInsertPrefetch:
      return ".prefetch(" + integer_text(edit.value) + ")" + position(pipeline, edit.node);
    case EditKind::kInsertCache: {
      const std::string file = edit.to.empty() ? "" : "\"" + edit.to + "\"";
      return ".cache(" + file + ")" + position(pipeline, edit.node);
    }
    case EditKind::kLengthenCycle: {
      Node longer = pipeline[*id];
      if (const auto* cycle = std::get_if<std::int64_t>(&edit.value)) longer.cycle_length = *cycle;
      return call_of(longer, "");
    }
    case EditKind::kReorder: {
      const auto map = find_node(pipeline, edit.to);
      const std::string before = map ? "  # before " + python_call(pipeline, *map) : "";
      return python_call(pipeline, *id) + before;
    }
    case EditKind::kRemove:
      return "# without " + python_call(pipeline, *id);
    default:
      return "";
  }
}

}  // namespace

std::string python_call(const Pipeline& pipeline, NodeId id) {
  return python_call(pipeline, id, "");
}

std::string python_call(const Pipeline& pipeline, NodeId id, const std::string& argument) {
  return call_of(pipeline[id], argument);
}

std::string python_line(const Pipeline& pipeline, const Edit& edit) {
  return edit.kind == EditKind::kSetOptions ? options_line(edit) : node_line(pipeline, edit);
}

}  // namespace plumber
