// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <vector>

#include "pipeline/op_table.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::NodeDef;

namespace {

// Where these stand, the elements of the first files are not the first elements. An earlier cut of
// the same list is one of them.
bool counts_elements(Kind kind) {
  return kind == Kind::kTake || kind == Kind::kSkip || kind == Kind::kShard ||
         kind == Kind::kShuffle || kind == Kind::kRepeat;
}

// The data sets from right above `files` up to `top`, lowest first.
std::vector<NodeDef*> chain_between(Body& body, NodeDef& top, const NodeDef& files) {
  std::vector<NodeDef*> chain;
  for (NodeDef* node = &top; node != &files; node = body.producer(node->input(0))) {
    const OpTraits& traits = op_traits(node->op());
    if (traits.dataset_inputs != 1 || data_inputs(*node) < 1 || !body.producer(node->input(0)))
      refuse(fmt::format("it does not stand above '{}'", files.name()));
    if (traits.kind == Kind::kCache)
      refuse(fmt::format("the cache '{}' stands below", node->name()));
    if (counts_elements(traits.kind))
      refuse(fmt::format("the {} '{}' stands above its list of files", node->op(), node->name()),
             "a list of files is cut once");
    chain.insert(chain.begin(), node);
  }
  if (chain.empty()) refuse("the list of files cannot be its own cache");
  return chain;
}

// A take or skip of `count` right above the list; returns it.
struct Cut {
  std::string op;
  std::int64_t count = 0;
};
NodeDef* add(const Cut& cut, Body& body, const NodeDef& files, const NodeDef& reader) {
  const auto& [op, count] = cut;
  NodeDef node;
  node.set_name(body.fresh_name(op));
  node.set_op(op);
  set_spec(node, known_spec(files));
  node.add_input(body.output_of(files));
  for (const std::string& input : add_integers(body, reader, {count})) node.add_input(input);
  return body.insert_before(&reader, std::move(node));
}

// The chain again over another source, with functions that the other chain keeps, too.
NodeDef* copy_chain(Rewriting& program, Body& body, const std::vector<NodeDef*>& chain,
                    const NodeDef* source) {
  NodeDef* place = chain.back();  // what the chain reads stands before its top
  for (const NodeDef* node : chain) {
    NodeDef copy = *node;
    copy.set_name(body.fresh_name(node->op()));
    copy.set_input(0, body.output_of(node == chain.front() ? *source : *place));
    for (tensorflow::NameAttrList* reference : function_references(copy))
      program.graph.add_use(reference->name());
    place = body.insert_after(place, std::move(copy));
  }
  return place;
}

NodeDef concatenation(const Body& body, const std::string& name, const NodeDef& first,
                      const NodeDef& second) {
  NodeDef node;
  node.set_name(name);
  node.set_op("ConcatenateDataset");
  set_spec(node, known_spec(second));
  node.add_input(body.output_of(first));
  node.add_input(body.output_of(second));
  return node;
}

}  // namespace

void insert_partial_cache(Rewriting& program, const Edit& edit) {
  const auto [body, top] = node_of(program, edit.node);
  const GraphIndex::Place files = node_of(program, edit.to);
  const std::int64_t* count = std::get_if<std::int64_t>(&edit.value);
  if (body->is_function() || files.body != body) refuse("it does not stand in the main program");
  if (!count || *count < 1) refuse("the value is no number of files", "give 1 or more");
  const std::vector<NodeDef*> chain = chain_between(*body, *top, *files.node);
  NodeDef* kept = add({"TakeDataset", *count}, *body, *files.node, *chain.front());
  NodeDef* rest = add({"SkipDataset", *count}, *body, *files.node, *chain.front());
  NodeDef* copied = copy_chain(program, *body, chain, kept);
  body->set_input(*chain.front(), 0, body->output_of(*rest));
  NodeDef* last = body->insert_after(copied, constant(body->fresh_name("Const"), text_tensor("")));
  const std::string file = body->output_of(*last);
  NodeDef home;
  home.set_op("DummyMemoryCache");
  home.set_name(body->fresh_name(home.op()));
  last = body->insert_after(last, std::move(home));
  NodeDef cache;
  cache.set_op("CacheDatasetV2");
  cache.set_name(body->fresh_name(cache.op()));
  set_spec(cache, known_spec(*top));
  for (const std::string& input : {body->output_of(*copied), file, body->output_of(*last)})
    cache.add_input(input);
  last = body->insert_after(last, std::move(cache));
  NodeDef* both = body->insert_after(
      last, concatenation(*body, body->fresh_name("ConcatenateDataset"), *last, *top));
  body->replace_reads(*top, body->output_of(*both), both);
  program.top.try_emplace(top, both);
}

}  // namespace plumber
