// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "optimize/optimize.h"

namespace plumber {
namespace {

constexpr std::array<std::pair<Permission, const char*>, 8> kWords = {{
    {Permission::kFrozenOrder, "frozen-order"},
    {Permission::kPyfuncCache, "pyfunc-cache"},
    {Permission::kUnfreeze, "unfreeze"},
    {Permission::kReshuffle, "reshuffle"},
    {Permission::kStatefulParallel, "stateful-parallel"},
    {Permission::kNondeterministic, "nondeterministic"},
    {Permission::kIntraOp, "intra-op"},
    {Permission::kReorderFiles, "reorder-files"},
}};

}  // namespace

std::string permission_word(Permission permission) {
  for (const auto& [known, word] : kWords) {
    if (known == permission) return word;
  }
  return "";
}

std::optional<Permission> permission_of(const std::string& word) {
  for (const auto& [permission, known] : kWords) {
    if (known == word) return permission;
  }
  return std::nullopt;
}

std::vector<std::string> permission_words() {
  std::vector<std::string> words;
  for (const auto& [permission, word] : kWords) words.emplace_back(word);
  return words;
}

std::vector<EditKind> optional_edits() {
  using enum EditKind;
  return {kSetParallelism,
          kConvert,
          kSequential,
          kInline,
          kParallelInline,
          kParallelUnbounded,
          kPassThroughFilter,
          kInsertCache,
          kInsertPartialCache,
          kInsertChunks,
          kReorder,
          kRemove,
          kMoveIntoFunction,
          kBalance,
          kUnfuse,
          kLengthenCycle};
}

}  // namespace plumber
