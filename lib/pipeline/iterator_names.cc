// SPDX-License-Identifier: Apache-2.0
#include "pipeline/iterator_names.h"

namespace plumber {
namespace {

std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : {"Forever", "Finite", "Empty"})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

}  // namespace

std::string_view without_index(std::string_view name) { return name.substr(0, name.find('[')); }

std::string_view model_name(const Node& node) {
  const OpTraits& traits = op_traits(node.op);
  if (!traits.op.empty()) return traits.model_name;
  // An op that the table lacks: its name without "Dataset".
  return std::string_view(node.op).substr(0, node.op.find("Dataset"));
}

bool same_name(const Node& node, std::string_view name) {
  name = without_index(name);
  if (model_name(node).empty()) return false;
  if (name == model_name(node)) return true;
  if (without_prefix(name) == model_name(node)) return true;
  // Sequential ops that TensorFlow runs in parallel by its own choice.
  if (node.op == "MapDataset") return name == "ParallelMapV2" || name == "ParallelMap";
  if (node.op == "FilterDataset") return name == "ParallelFilter";
  if (node.op == "BatchDatasetV2") return name == "ParallelBatch";
  if (node.op == "InterleaveDataset") return name.starts_with("ParallelInterleave");
  if (node.kind == Kind::kCache) return name == "MemoryCache" || name == "FileCache";
  return false;
}

bool is_snapshot_part(std::string_view name) { return name.starts_with("Snapshot"); }

bool has_snapshot_parts(const Node& node) {
  return node.op.starts_with("SnapshotDataset") || node.op.starts_with("Load");
}

}  // namespace plumber
