// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/op_table.h"
#include "rewrite/chunks.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::AttrValue;
using tensorflow::NodeDef;

namespace {

// Each element comes from one element of its data set: chunks may also lose some, or be batched.
void check_kind(const GraphIndex::Place& moved, const NodeDef& interleave) {
  const Kind kind = op_traits(moved.node->op()).kind;
  if (kind == Kind::kMap) return;
  if (!are_chunks(*moved.body, interleave))
    refuse(fmt::format("{} is no 1:1 map", moved.node->op()));
  if (kind != Kind::kFilter && kind != Kind::kBatch)
    refuse(fmt::format("{} is no map, filter or batch", moved.node->op()));
}

void check_deterministic(Rewriting& program, const NodeDef& interleave) {
  const AttrValue* attr = attribute(interleave, "deterministic");
  const std::string text = attr ? attr->s() : "default";
  const AttrValue* sloppy = attribute(interleave, "sloppy");
  const bool by_default = text == "default" && !is_deterministic(program);
  if (text == "false" || (sloppy && sloppy->b()) || by_default)
    refuse(fmt::format("'{}' is not deterministic", interleave.name()),
           "only a deterministic interleave keeps the order of the elements");
}

// The interleave under the map, with all that a move needs.
NodeDef& interleave_under(Rewriting& program, const GraphIndex::Place& map, const Edit& edit) {
  const GraphIndex::Place place = node_of(program, edit.to);
  const NodeDef& node = *place.node;
  const Kind kind = op_traits(node.op()).kind;
  check_kind(map, node);
  if ((kind != Kind::kInterleave && kind != Kind::kFlatMap) || !attribute(node, "f") ||
      node.op() == "ParallelInterleaveDataset")
    refuse(fmt::format("'{}' is a {}, no interleave", edit.to, node.op()));
  if (place.body != map.body || map.body->producer(map.node->input(0)) != &node)
    refuse(fmt::format("it does not stand right above '{}'", edit.to),
           "remove what stands between the two first");
  if (map.body->is_shared(node)) refuse(fmt::format("other nodes read '{}' too", edit.to));
  check_deterministic(program, node);
  if (!program.graph.has_function(function_of(node)))
    refuse(fmt::format("the function of '{}' is not in the program", edit.to));
  return *place.node;
}

// An argument of the function for each input that the map captures, in their order.
std::vector<std::string> add_arguments(tensorflow::FunctionDef& function, const NodeDef& map) {
  std::vector<std::string> names;
  auto* signature = function.mutable_signature();
  const int count = captured_arguments(map);
  for (int i = 0, number = 0; i < count; ++i) {
    const auto taken = [&](const std::string& name) {
      return std::ranges::any_of(signature->input_arg(),
                                 [&](const auto& argument) { return argument.name() == name; });
    };
    while (taken(fmt::format("plumber_captured_{}", number))) ++number;
    auto* argument = signature->add_input_arg();
    argument->set_name(fmt::format("plumber_captured_{}", number));
    argument->set_type(map.attr().at("Targuments").list().type(i));
    names.push_back(argument->name());
  }
  return names;
}

// The map's scalars (its number of calls) as constants of the function's own.
std::vector<NodeDef> scalars_of(const Body& body, const NodeDef& map) {
  std::vector<NodeDef> scalars;
  const bool is_parallel_map = op_traits(map.op()).parallelism_input != 0;
  for (int i = 1 + captured_arguments(map); i < data_inputs(map); ++i) {
    const NodeDef* source = body.value_of(map.input(i));
    if (!source || source->op() != "Const")
      refuse(fmt::format("its input {} is not a constant", i),
             is_parallel_map ? "make it sequential or inline first" : "");
    scalars.push_back(constant("", source->attr().at("value").tensor()));
  }
  return scalars;
}

// Puts the map on top of what the function returns; returns its name there.
std::string put_into(Body& inner, const NodeDef& map, const std::vector<NodeDef>& scalars) {
  NodeDef moved = map;
  if (inner.find(map.name())) moved.set_name(inner.fresh_name(map.op()));
  std::string& result = inner.function()->mutable_ret()->begin()->second;
  moved.clear_input();
  moved.add_input(result);
  for (const std::string& argument : add_arguments(*inner.function(), map))
    moved.add_input(argument);
  const NodeDef* last = inner.producer(result);
  for (NodeDef scalar : scalars) {
    scalar.set_name(inner.fresh_name("Const"));
    last = inner.insert_after(last, std::move(scalar));
    moved.add_input(inner.output_of(*last));
  }
  const NodeDef* added = inner.insert_after(last, std::move(moved));
  result = inner.output_of(*added);
  return added->name();
}

// The interleave captures for the function what the map captured, and stands where the map stood:
// what it reads now may come after its old place.
void take_over(Body& body, NodeDef& interleave, NodeDef& map) {
  const int own = captured_arguments(interleave);
  const int captured = captured_arguments(map);
  std::vector<std::string> inputs(map.input().begin() + 1, map.input().begin() + 1 + captured);
  body.add_inputs(interleave, 1 + own, inputs);
  auto* types = (*interleave.mutable_attr())["Targuments"].mutable_list();
  for (int i = 0; i < captured; ++i) types->add_type(map.attr().at("Targuments").list().type(i));
  for (int i = data_inputs(map); i < map.input_size(); ++i)
    body.add_control(interleave, map.input(i));
  set_spec(interleave, known_spec(map));
  body.move_after(map, interleave);
  body.replace_reads(map, body.output_of(interleave));
  body.remove(map, &interleave);
}

}  // namespace

void move_into_function(Rewriting& program, const Edit& edit) {
  // Of a map and batch that was taken apart first the map, then the batch.
  const auto part = program.function_part.find(edit.node);
  const bool is_map = part != program.function_part.end() && !program.moved.contains(part->second);
  const std::string& address = is_map ? part->second : edit.node;
  const GraphIndex::Place map = node_of(program, address);
  NodeDef& interleave = interleave_under(program, map, edit);
  const std::vector<NodeDef> scalars = scalars_of(*map.body, *map.node);
  Body& inner = program.graph.own_function(*interleave.mutable_attr()->at("f").mutable_func());
  if (inner.function()->ret_size() != 1)
    refuse(fmt::format("the function of '{}' does not return one data set", edit.to));
  if (op_traits(map.node->op()).kind == Kind::kBatch)
    batch_chunks(*map.body, interleave, *map.node, inner);
  const std::string name = put_into(inner, *map.node, scalars);
  program.top.erase(map.node);
  take_over(*map.body, interleave, *map.node);
  program.moved[address] = edit.to + ">" + name;
}

}  // namespace plumber
