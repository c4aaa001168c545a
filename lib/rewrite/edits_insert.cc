// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "pipeline/op_table.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::NodeDef;

namespace {

constexpr const char* kCacheOp = "CacheDatasetV2";
constexpr const char* kCacheHome = "DummyMemoryCache";

NodeDef cache_home() {
  NodeDef node;
  node.set_op(kCacheHome);
  return node;
}

// Buffer sizes: 0 is allowed for a prefetch (none), AUTOTUNE too.
std::int64_t buffer_of(const Edit& edit, std::int64_t least, bool autotune) {
  const std::int64_t* size = std::get_if<std::int64_t>(&edit.value);
  if (!size || (*size < least && !(autotune && *size == -1)))
    refuse("the value is no buffer size",
           fmt::format("give {} or more{}", least, autotune ? ", or -1 for AUTOTUNE" : ""));
  return *size;
}

// The file that a cache names, empty for memory; nullopt where it is computed.
std::optional<std::string> file_of(const Body& body, const NodeDef& cache) {
  const NodeDef* name = data_inputs(cache) > 1 ? body.producer(cache.input(1)) : nullptr;
  const tensorflow::AttrValue* value = name ? attribute(*name, "value") : nullptr;
  if (!value) return std::nullopt;
  return value->tensor().string_val_size() == 0 ? "" : value->tensor().string_val(0);
}

bool is_memory_cache(const Body& body, const NodeDef& node) {
  if (node.op() != kCacheOp || data_inputs(node) < 3) return false;
  // A file name that is computed may turn out empty: such a cache is taken for one in memory.
  return file_of(body, node).value_or("").empty();
}

// True if a cache of this body keeps its elements in that file.
bool writes_file(const Body& body, const std::string& file) {
  return std::ranges::any_of(body.nodes(), [&](const NodeDef* node) {
    return op_traits(node->op()).kind == Kind::kCache && file_of(body, *node) == file;
  });
}

void give_own_home(Body& body, NodeDef& cache) {
  NodeDef* home = body.producer(cache.input(2));
  if (home && home->op() == kCacheHome && !body.is_shared(*home)) return;
  NodeDef fresh = cache_home();
  fresh.set_name(body.fresh_name(kCacheHome));
  body.set_input(cache, 2, body.output_of(*body.insert_before(&cache, std::move(fresh))));
}

}  // namespace

void insert_prefetch(Rewriting& program, const Edit& edit) {
  const GraphIndex::Place below = node_of(program, edit.node);
  const std::int64_t size = buffer_of(edit, 1, true);
  insert_above(program, below, "PrefetchDataset", {constant("", integer_tensor(size))});
}

void insert_cache(Rewriting& program, const Edit& edit) {
  const GraphIndex::Place below = node_of(program, edit.node);
  if (below.body->is_function())
    refuse("a cache inside a function is empty again at every call",
           "put the cache above the node that calls the function");
  if (!edit.to.empty() && writes_file(*below.body, edit.to))
    refuse(fmt::format("another cache writes the file '{}' already", edit.to),
           "give each cache a file of its own");
  insert_above(program, below, kCacheOp, {constant("", text_tensor(edit.to)), cache_home()});
}

void rehome_cache(Rewriting& program, const Edit& edit) {
  const auto [body, node] = node_of(program, edit.node);
  if (!is_memory_cache(*body, *node))
    refuse(fmt::format("{} is no memory cache with a handle", node->op()));
  give_own_home(*body, *node);
}

void set_buffer(Rewriting& program, const Edit& edit) {
  const auto [body, node] = node_of(program, edit.node);
  const OpTraits& traits = op_traits(node->op());
  const int index = input_place(traits.buffer_input, data_inputs(*node));
  if (index < 0) refuse(fmt::format("{} has no buffer size", node->op()));
  const bool is_prefetch = traits.kind == Kind::kPrefetch;
  set_scalar(*body, *node, index, buffer_of(edit, is_prefetch ? 0 : 1, is_prefetch));
}

void remove_node(Rewriting& program, const Edit& edit) {
  const auto [body, node] = node_of(program, edit.node);
  const Kind kind = op_traits(node->op()).kind;
  if (kind == Kind::kUnbatch) return remove_batch_pair(program, edit);
  const bool passes_on = kind == Kind::kPrefetch || kind == Kind::kCache || kind == Kind::kPass ||
                         kind == Kind::kWrapper;
  if (!passes_on || data_inputs(*node) < 1)
    refuse(fmt::format("{} does more than pass its input on", node->op()));
  if (node->op() == "OptionsDataset")
    refuse("options are not removed as a whole", "unset their fields with set_options");
  const std::string input = node->input(0);
  body->replace_reads(*node, input);
  body->remove(*node, body->producer(input));
  std::erase_if(program.top, [place = node](const auto& entry) { return entry.second == place; });
  program.removed.emplace(edit.node, edit.id);
}

namespace {

void rehome_caches(Body& body) {
  for (const NodeDef* node : body.nodes())
    if (is_memory_cache(body, *node)) give_own_home(body, *body.find(node->name()));
}

}  // namespace

void rehome_all_caches(Rewriting& program) {
  rehome_caches(program.graph.main());
  for (const std::string& function : program.graph.functions())
    rehome_caches(program.graph.body(function));
}

}  // namespace plumber
