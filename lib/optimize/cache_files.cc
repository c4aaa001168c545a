// SPDX-License-Identifier: Apache-2.0
#include "optimize/cache_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fnv_hash.h"

namespace plumber {
namespace {

bool is_file(const Edit& edit) { return edit.kind == EditKind::kInsertCache && !edit.to.empty(); }

/// Edits after which the elements at a node may be others than before.
bool moves_elements(const Edit& edit) {
  switch (edit.kind) {
    case EditKind::kReorder:
    case EditKind::kRemove:
    case EditKind::kConvert:
    case EditKind::kMoveIntoFunction:
    case EditKind::kBalance:
    case EditKind::kUnfuse:
    case EditKind::kLengthenCycle:
    case EditKind::kInsertChunks:
      return true;
    default:
      return false;
  }
}

std::string file_name(const std::string& node) {
  std::string name;
  for (const char c : node) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || (c == '_' && !name.ends_with('_'))) name += c;
    if (!plain && c != '_' && !name.empty() && !name.ends_with('_')) name += '_';
  }
  return name;
}

}  // namespace

void name_cache_files(const Pipeline& pipeline, Plan& plan) {
  FnvHash way;
  way.add(pipeline.program_hash.empty() ? pipeline.graph_fingerprint : pipeline.program_hash);
  for (const Edit& edit : plan.edits) {
    if (!moves_elements(edit)) continue;
    for (const std::string& text : {edit_word(edit.kind), edit.node, edit.to}) way.add(text);
    const auto* cycle = std::get_if<std::int64_t>(&edit.value);
    if (edit.kind == EditKind::kLengthenCycle && cycle) way.add(std::to_string(*cycle));
  }
  for (Edit& edit : plan.edits) {
    if (!is_file(edit)) continue;
    FnvHash hash = way;
    hash.add(edit.node);
    if (!pipeline.program_hash.empty()) edit.value = pipeline.program_hash;
    edit.to = fmt::format("{}/plumber-{}-{:016x}", edit.to, file_name(edit.node), hash.value());
  }
}

std::string cache_file_advice(const Plan& plan) {
  const auto edit = std::ranges::find_if(plan.edits, is_file);
  if (edit == plan.edits.end()) return "";
  const std::string folder = edit->to.substr(0, edit->to.rfind('/'));
  return fmt::format(
      "caches on disk: {} must be there and have the room; TensorFlow reads what it finds, so "
      "delete {}/plumber-* when the data or a Python function has changed, and the files that end "
      "in .lockfile with them when a first epoch was cut short; one job at a time may fill them",
      folder, folder);
}

}  // namespace plumber
