// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/function_body.h"
#include "pipeline/op_table.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::NodeDef;

namespace {

// The node that `above` reads, which nothing else reads.
NodeDef& only_input(Body& body, const NodeDef& above, Kind kind, const char* what) {
  NodeDef* below = data_inputs(above) > 0 ? body.producer(above.input(0)) : nullptr;
  if (!below || op_traits(below->op()).kind != kind)
    refuse(fmt::format("it does not stand right above {}", what),
           "remove what stands between the two first");
  if (body.is_shared(*below)) refuse(fmt::format("other nodes read '{}' too", below->name()));
  return *below;
}

void check_plain_tensors(const NodeDef& node) {
  const ElementSpec spec = known_spec(node);
  if (std::ranges::count(spec.types.list().type(), tensorflow::DT_VARIANT) > 0)
    refuse("its elements hold sparse or ragged tensors");
}

bool is_false(const NodeDef* node) {
  const tensorflow::AttrValue* value = node ? attribute(*node, "value") : nullptr;
  if (!value || value->tensor().dtype() != tensorflow::DT_BOOL) return false;
  const tensorflow::TensorProto& tensor = value->tensor();
  if (tensor.bool_val_size() == 1) return !tensor.bool_val(0);
  return tensor.tensor_content().empty() || tensor.tensor_content()[0] == 0;
}

std::string address_of(const GraphIndex::Place& of, const std::string& address,
                       const NodeDef& other) {
  if (!of.body->is_function()) return other.name();
  return address.substr(0, address.size() - of.node->name().size()) + other.name();
}

// `below` goes: its one reader is `above`, which takes over its data set and control inputs.
void absorb(Rewriting& program, const GraphIndex::Place& above, const Edit& edit, NodeDef& below) {
  Body& body = *above.body;
  for (int i = data_inputs(below); i < below.input_size(); ++i)
    body.add_control(*above.node, below.input(i));
  body.set_input(*above.node, 0, below.input(0));
  program.removed.emplace(address_of(above, edit.node, below), edit.id);
  program.top.erase(&below);
  std::erase_if(program.top, [&](const auto& entry) { return entry.second == &below; });
  body.remove(below, above.node);
}

}  // namespace

void fuse_rebatch(Rewriting& program, const Edit& edit) {
  const GraphIndex::Place place = node_of(program, edit.node);
  NodeDef& batch = *place.node;
  if (batch.op() != "BatchDatasetV2") refuse(fmt::format("{} is no plain batch", batch.op()));
  NodeDef& unbatch = only_input(*place.body, batch, Kind::kUnbatch, "an unbatch");
  check_plain_tensors(unbatch);
  absorb(program, place, edit, unbatch);
  batch.set_op("RebatchDatasetV2");
  drop_attributes(batch, {"parallel_copy", "metadata"});
}

void fuse_map_and_batch(Rewriting& program, const Edit& edit) {
  const GraphIndex::Place place = node_of(program, edit.node);
  NodeDef& batch = *place.node;
  const std::int64_t calls = calls_of(edit);
  if (batch.op() != "BatchDatasetV2") refuse(fmt::format("{} is no plain batch", batch.op()));
  NodeDef& map = only_input(*place.body, batch, Kind::kMap, "a map");
  const tensorflow::AttrValue* deterministic = attribute(map, "deterministic");
  if (deterministic && deterministic->s() == "false") refuse("the map is not deterministic");
  const int captured = captured_arguments(map);
  const std::vector<std::string> inputs(map.input().begin() + 1,
                                        map.input().begin() + 1 + captured);
  program.graph.set_function(batch, "f", function_of(map));
  (*batch.mutable_attr())["Targuments"].mutable_list();
  if (const auto* types = attribute(map, "Targuments"))
    (*batch.mutable_attr())["Targuments"] = *types;
  if (const auto* keeps = attribute(map, "preserve_cardinality"))
    (*batch.mutable_attr())["preserve_cardinality"] = *keeps;
  place.body->add_inputs(batch, 1, inputs);
  place.body->add_inputs(batch, data_inputs(batch) - 1, add_integers(*place.body, batch, {calls}));
  program.graph.drop_function(map, "f");
  absorb(program, place, edit, map);
  program.function_part.erase(edit.node);  // where the plan had taken the same map out
  batch.set_op("MapAndBatchDataset");
  drop_attributes(batch, {"parallel_copy"});
}

namespace {

// The maps that .unbatch() puts below its op change nothing where tensors are dense.
void absorb_identities(Rewriting& program, const GraphIndex::Place& place, const Edit& edit) {
  for (;;) {
    NodeDef* map = place.body->producer(place.node->input(0));
    if (!map || op_traits(map->op()).kind != Kind::kMap || place.body->is_shared(*map)) return;
    const std::string function = function_of(*map);
    if (!program.graph.has_function(function) ||
        !read_function_body(program.graph.copy_of(function)).facts.identity)
      return;
    program.graph.drop_function(*map, "f");
    absorb(program, place, edit, *map);
  }
}

}  // namespace

void remove_batch_pair(Rewriting& program, const Edit& edit) {
  const GraphIndex::Place place = node_of(program, edit.node);
  absorb_identities(program, place, edit);
  NodeDef& batch = only_input(*place.body, *place.node, Kind::kBatch, "a batch");
  if (!is_plain_batch(batch.op())) refuse(fmt::format("{} changes its elements", batch.op()));
  if (!is_false(place.body->value_of(batch.input(data_inputs(batch) - 1))))
    refuse("the batch drops a partial last batch, whose elements would come back",
           "only a batch with drop_remainder=False can go");
  check_plain_tensors(*place.node);
  absorb(program, place, edit, batch);
  const std::string input = place.node->input(0);
  place.body->replace_reads(*place.node, input);
  std::erase_if(program.top, [&](const auto& entry) { return entry.second == place.node; });
  place.body->remove(*place.node, place.body->producer(input));
  program.removed.emplace(edit.node, edit.id);
}

namespace {

bool concatenates(const NodeDef& node) { return op_traits(node.op()).kind == Kind::kConcatenate; }

struct Nest {
  std::vector<std::string> leaves;  // in the order of their elements
  std::vector<NodeDef*> nodes;      // below the top
};

// Concatenations that only their nest reads are taken apart; the rest are leaves.
Nest nest_of(Body& body, NodeDef& top) {
  Nest nest;
  std::vector<std::string> stack = {top.input(1), top.input(0)};
  while (!stack.empty()) {
    const std::string input = stack.back();
    stack.pop_back();
    NodeDef* node = body.producer(input);
    if (!node || !concatenates(*node) || body.is_shared(*node) ||
        data_inputs(*node) < node->input_size()) {
      nest.leaves.push_back(input);
      continue;
    }
    nest.nodes.push_back(node);
    stack.push_back(node->input(1));
    stack.push_back(node->input(0));
  }
  return nest;
}

}  // namespace

// Concatenation is associative: an element passes the concatenations above its own data set only,
// and the order of the leaves stays.
void balance(Rewriting& program, const Edit& edit) {
  const auto [body, top] = node_of(program, edit.node);
  if (!concatenates(*top)) refuse(fmt::format("{} does not concatenate", top->op()));
  Nest nest = nest_of(*body, *top);
  if (nest.leaves.size() < 4) refuse("fewer than four data sets are in balance as they are");
  const ElementSpec spec = known_spec(*top);
  nest.nodes.push_back(top);
  const NodeDef* last = top;
  std::vector<std::string> level = nest.leaves;
  std::size_t used = 0;
  while (level.size() > 1) {
    std::vector<std::string> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
      NodeDef& node = *nest.nodes[used++];
      body->set_input(node, 0, level[i]);
      body->set_input(node, 1, level[i + 1]);
      set_spec(node, spec);
      if (last != &node) body->move_after(*last, node);
      last = &node;
      next.push_back(body->output_of(node));
    }
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
}

}  // namespace plumber
