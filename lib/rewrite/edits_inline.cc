// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <unordered_set>

#include "pipeline/op_effects.h"
#include "pipeline/op_table.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::DataType;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;

namespace {

// The first control-flow op that a call of `function` reaches, empty if there is none. Functions of
// data sets inside it run on executors of their own and do not count.
std::string control_flow_in(GraphIndex& graph, const std::string& function) {
  std::vector<std::string> queue = {function};
  std::unordered_set<std::string> seen = {function};
  while (!queue.empty()) {
    const std::string name = queue.back();
    queue.pop_back();
    if (!graph.has_function(name)) continue;
    Body& body = graph.body(name);
    for (const NodeDef* node : body.nodes()) {
      if (is_control_flow(node->op())) return node->op();
      if (is_dataset_op(node->op())) continue;
      for (const auto* reference : function_references(*body.find(node->name())))
        if (seen.insert(reference->name()).second) queue.push_back(reference->name());
    }
  }
  return "";
}

void check_inline(Rewriting& program, const NodeDef& node) {
  const std::string function = function_of(node);
  const auto [known, is_new] = program.control_flow.try_emplace(function);
  if (is_new) known->second = control_flow_in(program.graph, function);
  if (!known->second.empty())
    refuse(
        fmt::format("its function reaches control flow ({}), which TensorFlow runs dispatched only",
                    known->second),
        "leave it dispatched, or make it parallel");
}

bool is_map(const NodeDef& node) {
  return op_traits(node.op()).kind == Kind::kMap && attribute(node, "f");
}

void make_synchronous_inline(NodeDef& node) {
  node.set_op("MapDataset");
  set_flag(node, "use_inter_op_parallelism", false);
  set_flag(node, "force_synchronous", true);
}

}  // namespace

void make_inline(Rewriting& program, const Edit& edit) {
  const auto [body, node] = function_node_of(program, edit.node);
  if (!is_map(*node))
    refuse(fmt::format("{} is no map", node->op()),
           op_traits(node->op()).kind == Kind::kFilter ? "use pass_through_filter" : "");
  check_inline(program, *node);
  if (node->op() != "MapDataset") make_sequential(program, edit);
  make_synchronous_inline(*node);
}

namespace {

NodeDef& make_parallel_map(Rewriting& program, const Edit& edit) {
  NodeDef* node = function_node_of(program, edit.node).node;
  Edit parallel = edit;
  parallel.to = "ParallelMapDatasetV2";
  if (node->op() == "MapDataset")
    convert(program, parallel);
  else
    set_parallelism(program, parallel);
  return *node;
}

}  // namespace

void make_parallel_inline(Rewriting& program, const Edit& edit) {
  const auto [body, node] = function_node_of(program, edit.node);
  if (!is_map(*node)) refuse(fmt::format("{} is no map", node->op()));
  check_inline(program, *node);
  NodeDef& parallel = make_parallel_map(program, edit);
  set_flag(parallel, "use_inter_op_parallelism", false);
  drop_attributes(parallel, {"use_unbounded_threadpool"});
}

void make_parallel_unbounded(Rewriting& program, const Edit& edit) {
  const auto [body, node] = function_node_of(program, edit.node);
  const bool has_form = node->op() == "MapDataset" || node->op() == "ParallelMapDatasetV2";
  if (!has_form) refuse(fmt::format("{} has no threads of its own", node->op()));
  NodeDef& parallel = make_parallel_map(program, edit);
  set_flag(parallel, "use_inter_op_parallelism", true);
  set_flag(parallel, "use_unbounded_threadpool", true);
}

namespace {

// What the three functions of a pass-through filter share: the element's types, the flag last.
std::vector<DataType> types_with_flag(const ElementSpec& spec) {
  std::vector<DataType> types;
  for (const int type : spec.types.list().type()) types.push_back(static_cast<DataType>(type));
  types.push_back(tensorflow::DT_BOOL);
  return types;
}

// (x...) -> the results `first` up to (not including) `last` of its arguments.
std::string add_choice(GraphIndex& graph, const std::string& name,
                       const std::vector<DataType>& types,
                       std::pair<std::size_t, std::size_t> range) {
  FunctionDef function;
  function.mutable_signature()->set_name(name);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string argument = fmt::format("x{}", i);
    auto* input = function.mutable_signature()->add_input_arg();
    input->set_name(argument);
    input->set_type(types[i]);
    if (i < range.first || i >= range.second) continue;
    auto* output = function.mutable_signature()->add_output_arg();
    output->set_name(fmt::format("y{}", i));
    output->set_type(types[i]);
    (*function.mutable_ret())[output->name()] = argument;
  }
  graph.add_function(function);
  return name;
}

// (x..., captured...) -> x..., predicate(x..., captured...).
std::string add_keep(GraphIndex& graph, const std::string& predicate, int components) {
  FunctionDef function = graph.copy_of(predicate);
  const std::string name = graph.fresh_function_name(predicate, "keep");
  auto* signature = function.mutable_signature();
  signature->set_name(name);
  const auto flag = signature->output_arg(0);
  signature->clear_output_arg();
  for (int i = 0; i < components; ++i) {
    auto* output = signature->add_output_arg();
    output->set_name(fmt::format("plumber_x{}", i));
    output->set_type(signature->input_arg(i).type());
    (*function.mutable_ret())[output->name()] = signature->input_arg(i).name();
  }
  *signature->add_output_arg() = flag;
  graph.add_function(function);
  return name;
}

ElementSpec with_flag(ElementSpec spec) {
  spec.types.mutable_list()->add_type(tensorflow::DT_BOOL);
  spec.shapes.mutable_list()->add_shape();
  return spec;
}

// The filter's node becomes the last map: only its data input is left of its inputs.
void become_drop(Rewriting& program, Body& body, NodeDef& node, const std::string& function) {
  body.remove_inputs(node, 1, data_inputs(node) - 1);
  program.graph.drop_function(node, "predicate");
  program.graph.set_function(node, "f", function);
  (*node.mutable_attr())["Targuments"].mutable_list()->clear_type();
  drop_attributes(node, {"deterministic"});
  make_synchronous_inline(node);
}

}  // namespace

namespace {

// The map that computes the flags; with calls in flight it is a parallel one, in order.
const NodeDef* add_keep_map(Body& body, NodeDef& filter, NodeDef keep, const Edit& edit) {
  const bool parallel = std::holds_alternative<std::int64_t>(edit.value);
  keep.set_name(body.fresh_name(parallel ? "ParallelMapDatasetV2" : "MapDataset"));
  make_synchronous_inline(keep);
  set_flag(keep, "preserve_cardinality", true);
  NodeDef* added = body.insert_before(&filter, std::move(keep));
  if (!parallel) return added;
  added->set_op("ParallelMapDatasetV2");
  drop_attributes(*added, {"force_synchronous"});
  set_flag(*added, "use_inter_op_parallelism", true);
  set_text(*added, "deterministic", "true");
  body.add_inputs(*added, data_inputs(*added), add_integers(body, *added, {calls_of(edit)}));
  return added;
}

}  // namespace

void make_pass_through_filter(Rewriting& program, const Edit& edit) {
  const auto [body, node] = node_of(program, edit.node);
  const std::string predicate = function_of(*node);
  if (op_traits(node->op()).kind != Kind::kFilter || !program.graph.has_function(predicate))
    refuse(fmt::format("{} is no filter with a function", node->op()));
  if (!std::holds_alternative<std::int64_t>(edit.value)) check_inline(program, *node);
  GraphIndex& graph = program.graph;
  const ElementSpec spec = known_spec(*node);
  const std::vector<DataType> types = types_with_flag(spec);
  const std::size_t flag = types.size() - 1;
  const int calls = node->op() == "ParallelFilterDataset" ? 1 : 0;

  NodeDef keep = *node;
  keep.mutable_input()->DeleteSubrange(data_inputs(keep) - calls, calls);
  drop_attributes(keep, {"predicate", "deterministic", "metadata"});
  graph.set_function(keep, "f", add_keep(graph, predicate, static_cast<int>(flag)));
  set_spec(keep, with_flag(spec));
  const NodeDef* kept = add_keep_map(*body, *node, std::move(keep), edit);

  NodeDef pass;
  pass.set_name(body->fresh_name("FilterDataset"));
  pass.set_op("FilterDataset");
  pass.add_input(body->output_of(*kept));
  (*pass.mutable_attr())["Targuments"].mutable_list();
  set_spec(pass, with_flag(spec));
  graph.set_function(
      pass, "predicate",
      add_choice(graph, graph.fresh_function_name(predicate, "pass"), types, {flag, flag + 1}));
  const NodeDef* passed = body->insert_before(node, std::move(pass));

  const std::string drop = graph.fresh_function_name(predicate, "drop");
  become_drop(program, *body, *node, add_choice(graph, drop, types, {0, flag}));
  body->set_input(*node, 0, body->output_of(*passed));
}

}  // namespace plumber
