// SPDX-License-Identifier: Apache-2.0
#include "rewrite/rewriting.h"

#include <fmt/format.h>

#include "base/suggest.h"
#include "pipeline/op_table.h"
#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::NodeDef;

namespace {

std::string nearest_address(Rewriting& program, const std::string& address) {
  if (program.suggestions_left-- <= 0) return "";
  std::vector<std::string> names;
  for (const NodeDef* node : program.graph.main().nodes())
    if (is_dataset_op(node->op())) names.push_back(node->name());
  const std::string hint = did_you_mean(address, names);
  return hint.empty() ? "'plumber show' lists the nodes of a program" : hint;
}

const std::string& now(const std::unordered_map<std::string, std::string>& names,
                       const std::string& address) {
  const auto found = names.find(address);
  return found == names.end() ? address : found->second;
}

}  // namespace

GraphIndex::Place node_of(Rewriting& program, const std::string& address) {
  if (address.empty()) refuse("the edit names no node", "give the key \"node\" a node's name");
  const auto removed = program.removed.find(address);
  if (removed != program.removed.end())
    refuse(fmt::format("edit {} has removed this node", removed->second),
           "put the edit before that one, or name the node below");
  const GraphIndex::Place place = program.graph.open(now(program.moved, address));
  if (!place.node) refuse("the program has no such node", nearest_address(program, address));
  if (!is_dataset_op(place.node->op()))
    refuse(fmt::format("this is no data set but an op {}", place.node->op()),
           nearest_address(program, address));
  return place;
}

GraphIndex::Place function_node_of(Rewriting& program, const std::string& address) {
  return node_of(program, now(program.function_part, address));
}

std::int64_t calls_of(const Edit& edit) {
  constexpr std::int64_t kMostCalls = 1'000'000;
  const std::int64_t* calls = std::get_if<std::int64_t>(&edit.value);
  if (!calls || (*calls < 1 && *calls != -1))
    refuse("the value is no number of calls in flight", "give 1 or more, or -1 for AUTOTUNE");
  if (*calls > kMostCalls)
    refuse(fmt::format("{} calls in flight are more than any machine runs", *calls),
           fmt::format("give {} or fewer", kMostCalls));
  return *calls;
}

void set_scalar(Body& body, NodeDef& node, int index, std::int64_t value) {
  NodeDef* source = body.producer(node.input(index));
  const bool is_const = source && source->op() == "Const";
  NodeDef fresh = is_const ? *source : constant("", integer_tensor(value));
  const tensorflow::AttrValue* type = attribute(fresh, "dtype");
  *(*fresh.mutable_attr())["value"].mutable_tensor() =
      integer_tensor(value, type ? type->type() : tensorflow::DT_INT64);
  if (is_const && !body.is_shared(*source)) {
    *source->mutable_attr() = fresh.attr();
    return;
  }
  fresh.set_name(body.fresh_name("Const"));
  body.set_input(node, index, body.output_of(*body.insert_before(&node, fresh)));
}

std::vector<std::string> add_integers(Body& body, const NodeDef& reader,
                                      const std::vector<std::int64_t>& values) {
  std::vector<std::string> outputs;
  for (const std::int64_t value : values)
    outputs.push_back(body.output_of(
        *body.insert_before(&reader, constant(body.fresh_name("Const"), integer_tensor(value)))));
  return outputs;
}

NodeDef* insert_above(Rewriting& program, GraphIndex::Place below, const std::string& op,
                      const std::vector<NodeDef>& extra_inputs) {
  // Options are kept at the top, where a plan's own are merged into them.
  while (below.node->op() == "OptionsDataset" && below.body->producer(below.node->input(0)))
    below.node = below.body->producer(below.node->input(0));
  const auto [entry, is_first] = program.top.try_emplace(below.node, below.node);
  NodeDef* under = entry->second;
  NodeDef above;
  above.set_name(below.body->fresh_name(op));
  above.set_op(op);
  set_spec(above, known_spec(*below.node));
  above.add_input(below.body->output_of(*under));
  const NodeDef* last = under;
  for (NodeDef input : extra_inputs) {
    input.set_name(below.body->fresh_name(input.op()));
    last = below.body->insert_after(last, std::move(input));
    above.add_input(below.body->output_of(*last));
  }
  NodeDef* added = below.body->insert_after(last, std::move(above));
  below.body->replace_reads(*under, below.body->output_of(*added), added);
  entry->second = added;
  return added;
}

}  // namespace plumber
