// SPDX-License-Identifier: Apache-2.0
#include "pipeline/function_body.h"

#include <algorithm>
#include <unordered_map>

#include "pipeline/graph_scope.h"
#include "pipeline/op_effects.h"
#include "pipeline/op_table.h"

namespace plumber {
namespace {

using tensorflow::AttrValue;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;

using NodesByName = std::unordered_map<std::string_view, const NodeDef*>;

NodesByName nodes_by_name(const FunctionDef& function) {
  NodesByName nodes;
  for (const NodeDef& node : function.node_def()) nodes.emplace(node.name(), &node);
  return nodes;
}

// Nodes whose value flows into a result. Control inputs carry no value.
std::unordered_map<const NodeDef*, bool> value_reaches(const FunctionDef& function,
                                                       const NodesByName& nodes) {
  std::unordered_map<const NodeDef*, bool> reached;
  std::vector<const NodeDef*> open;
  const auto reach = [&](std::string_view input) {
    const auto found = nodes.find(producer_of(input));
    if (found == nodes.end() || reached[found->second]) return;
    reached[found->second] = true;
    open.push_back(found->second);
  };
  for (const auto& [result, value] : function.ret()) reach(value);
  while (!open.empty()) {
    const NodeDef* node = open.back();
    open.pop_back();
    for (const std::string& input : node->input()) reach(input);
  }
  return reached;
}

const AttrValue* attribute(const NodeDef& node, const char* name) {
  const auto found = node.attr().find(name);
  return found == node.attr().end() ? nullptr : &found->second;
}

void collect_called(const AttrValue& value, std::vector<std::string>& called) {
  if (value.value_case() == AttrValue::kFunc) called.push_back(value.func().name());
  for (const auto& function : value.list().func()) called.push_back(function.name());
}

std::vector<std::string> functions_of(const NodeDef& node) {
  std::vector<std::string> called;
  for (const auto& [name, value] : node.attr()) {
    collect_called(value, called);
    // A function that is given to a function: an attribute of the inner name.
    if (value.value_case() == AttrValue::kFunc)
      for (const auto& [inner, inner_value] : value.func().attr())
        collect_called(inner_value, called);
  }
  std::ranges::sort(called);  // attributes come in no order
  return called;
}

bool has_argument(const FunctionDef& function, std::string_view name) {
  return std::ranges::any_of(function.signature().input_arg(),
                             [name](const auto& argument) { return argument.name() == name; });
}

// The argument that comes out as this result, if need be through Identity; empty: none does.
std::string_view argument_behind(const FunctionDef& function, const NodesByName& nodes,
                                 std::string_view value) {
  std::string_view name = producer_of(value);
  auto node = nodes.find(name);
  for (int steps = function.node_def_size(); node != nodes.end() && steps > 0; --steps) {
    if (node->second->op() != "Identity" || node->second->input_size() == 0) return {};
    name = producer_of(node->second->input(0));
    node = nodes.find(name);
  }
  return node == nodes.end() && has_argument(function, name) ? name : std::string_view();
}

// Only its own inputs come out: TensorFlow does not call the function.
bool passes_inputs_on(const FunctionDef& function, const NodesByName& nodes) {
  if (function.signature().is_stateful() || function.ret().empty()) return false;
  return std::ranges::all_of(function.ret(), [&](const auto& result) {
    return !argument_behind(function, nodes, result.second).empty();
  });
}

// Each of its arguments comes out in its place: what .unbatch() puts below its op.
bool is_identity(const FunctionDef& function, const NodesByName& nodes) {
  const auto& arguments = function.signature().input_arg();
  const auto& results = function.signature().output_arg();
  if (!passes_inputs_on(function, nodes) || arguments.size() != results.size()) return false;
  for (int i = 0; i < arguments.size(); ++i) {
    const auto result = function.ret().find(results[i].name());
    if (result == function.ret().end() ||
        argument_behind(function, nodes, result->second) != arguments[i].name())
      return false;
  }
  return function.control_ret().empty();
}

// Rank of a Transpose, by the length of its permutation; 0 if that is no constant.
std::int64_t transpose_rank(const NodeDef& node, const NodesByName& nodes) {
  if (node.input_size() < 2) return 0;
  const auto permutation = nodes.find(producer_of(node.input(1)));
  if (permutation == nodes.end() || permutation->second->op() != "Const") return 0;
  const AttrValue* value = attribute(*permutation->second, "value");
  if (!value || value->tensor().tensor_shape().dim_size() != 1) return 0;
  return value->tensor().tensor_shape().dim(0).size();
}

void note_kernels(const NodeDef& node, const NodesByName& nodes, FunctionFacts& facts) {
  if (node.op().find("Regex") != std::string::npos) facts.locking.push_back(node.op());
  if (node.op() == "ReadFile" || node.op() == "MatchingFiles")
    facts.file_reads.push_back(node.op());
  switch (sharding(node.op())) {
    case Sharding::kNever:
      break;
    case Sharding::kWhenLarge:
      facts.sharding_large.push_back(node.op());
      break;
    case Sharding::kCube:
      if (transpose_rank(node, nodes) == 1 || transpose_rank(node, nodes) == 2) break;
      [[fallthrough]];
    case Sharding::kMatrix:  // the rank is not known here
    case Sharding::kAlways:
      facts.sharding.push_back(node.op());
      break;
  }
}

// A fixed seed, or a generator whose state may have been set.
bool is_seeded(const NodeDef& node) {
  if (node.op().starts_with("Rng") || node.op().starts_with("Stateful")) return true;
  for (const char* seed : {"seed", "seed2"})
    if (const AttrValue* value = attribute(node, seed); value && value->i() != 0) return true;
  return false;
}

void note_effect(const NodeDef& node, bool reaches, FunctionFacts& facts) {
  if (is_control_flow(node.op())) facts.control_flow.push_back(node.op());
  switch (op_effect(node.op())) {
    case OpEffect::kPure:
      break;
    case OpEffect::kRandom:
      if (reaches) facts.random.push_back(node.op());
      if (reaches && is_seeded(node)) facts.seeded.push_back(node.op());
      break;
    case OpEffect::kStateRead:
      facts.state_reads.push_back(node.op());
      break;
    case OpEffect::kStateWrite:
    case OpEffect::kStateful:
      facts.stateful.push_back(node.op());
      break;
    case OpEffect::kPython:
      facts.python.push_back(node.op());
      break;
  }
}

bool reorders(const NodeDef& node) {
  const Kind kind = op_traits(node.op()).kind;
  if (kind == Kind::kShuffle || kind == Kind::kShuffleRepeat) return true;
  const AttrValue* deterministic = attribute(node, "deterministic");
  const AttrValue* sloppy = attribute(node, "sloppy");
  return (deterministic && deterministic->s() == "false") || (sloppy && sloppy->b());
}

}  // namespace

FunctionBody read_function_body(const FunctionDef& function) {
  const NodesByName nodes = nodes_by_name(function);
  const auto reached = value_reaches(function, nodes);
  FunctionBody body;
  body.facts.ops = function.node_def_size();
  body.facts.short_circuit = passes_inputs_on(function, nodes);
  body.facts.identity = is_identity(function, nodes);
  for (const NodeDef& node : function.node_def()) {
    const bool reaches = reached.contains(&node);
    const bool dataset_op = !op_traits(node.op()).op.empty() || is_dataset_op(node.op());
    note_effect(node, reaches, body.facts);
    note_kernels(node, nodes, body.facts);
    if (dataset_op && reorders(node)) body.reordering.push_back(node.op());
    if (op_traits(node.op()).kind == Kind::kSink) body.consumes_dataset = true;
    body.calls.push_back(
        {node.op(), false, true, reaches});  // a call may be spelled as the op itself
    for (std::string& callee : functions_of(node))
      body.calls.push_back({std::move(callee), dataset_op, false, reaches});
  }
  return body;
}

}  // namespace plumber
