// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace plumber {
namespace {

struct Word {
  EditKind kind;
  std::string_view word;
};

constexpr auto kWords = std::to_array<Word>({
    {EditKind::kSetParallelism, "set_parallelism"},
    {EditKind::kConvert, "convert"},
    {EditKind::kSequential, "sequential"},
    {EditKind::kInline, "inline"},
    {EditKind::kParallelInline, "parallel_inline"},
    {EditKind::kParallelUnbounded, "parallel_unbounded"},
    {EditKind::kPassThroughFilter, "pass_through_filter"},
    {EditKind::kMoveIntoFunction, "move_into_function"},
    {EditKind::kUnfuse, "unfuse"},
    {EditKind::kInsertPrefetch, "insert_prefetch"},
    {EditKind::kSetBuffer, "set_buffer"},
    {EditKind::kInsertCache, "insert_cache"},
    {EditKind::kRehomeCache, "rehome_cache"},
    {EditKind::kReorder, "reorder"},
    {EditKind::kRemove, "remove"},
    {EditKind::kSetOptions, "set_options"},
    {EditKind::kBalance, "balance"},
    {EditKind::kInsertPartialCache, "insert_partial_cache"},
    {EditKind::kInsertChunks, "insert_chunks"},
    {EditKind::kLengthenCycle, "lengthen_cycle"},
});

}  // namespace

std::string chunks_name(const std::string& node) { return "plumber/chunks/" + node; }

std::string chunk_name(const std::string& node) { return "plumber/chunk/" + node; }

std::string unfused_map_name(const std::string& node) { return "plumber/map/" + node; }

std::string edit_word(EditKind kind) {
  return std::string(std::ranges::find(kWords, kind, &Word::kind)->word);
}

std::optional<EditKind> edit_kind(const std::string& word) {
  const auto found = std::ranges::find(kWords, word, &Word::word);
  return found == kWords.end() ? std::nullopt : std::optional(found->kind);
}

std::vector<std::string> edit_words() {
  std::vector<std::string> words;
  for (const Word& word : kWords) words.emplace_back(word.word);
  return words;
}

}  // namespace plumber
