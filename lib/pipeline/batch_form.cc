// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batch_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "pipeline/graph_scope.h"
#include "pipeline/op_table.h"

namespace plumber {

using tensorflow::AttrValue;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;

namespace {

constexpr auto kElementwise = std::to_array<std::string_view>({
    "Abs",
    "Add",
    "AddV2",
    "AsString",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Cast",
    "Ceil",
    "Equal",
    "Floor",
    "FloorDiv",
    "FloorMod",
    "Greater",
    "GreaterEqual",
    "Identity",
    "Invert",
    "IsFinite",
    "IsInf",
    "IsNan",
    "Less",
    "LessEqual",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "Mul",
    "Neg",
    "NotEqual",
    "OnesLike",
    "RealDiv",
    "Rint",
    "SelectV2",
    "Square",
    "SquaredDifference",
    "StaticRegexFullMatch",
    "StaticRegexReplace",
    "StringLength",
    "StringLower",
    "StringStrip",
    "StringToHashBucket",
    "StringToHashBucketFast",
    "StringToHashBucketStrong",
    "StringToNumber",
    "StringUpper",
    "Sub",
    "TruncateDiv",
    "ZerosLike",
});

const AttrValue* attribute(const NodeDef& node, const std::string& name) {
  const auto found = node.attr().find(name);
  return found == node.attr().end() ? nullptr : &found->second;
}

// What is known of a tensor: of the element or a constant, and its rank; -1: not known.
struct Value {
  bool of_element = false;
  int rank = -1;
};

// The part "dense_values", 1 of "node:dense_values:1".
struct Output {
  std::string_view name;
  std::size_t index = 0;
};

Output output_of(std::string_view input) {
  const std::size_t first = input.find(':');
  if (first == std::string_view::npos) return {};
  const std::size_t second = input.find(':', first + 1);
  if (second == std::string_view::npos) return {input.substr(first + 1), 0};
  Output output{input.substr(first + 1, second - first - 1), 0};
  for (const char digit : input.substr(second + 1)) {
    if (digit < '0' || digit > '9') return {};
    output.index = output.index * 10 + static_cast<std::size_t>(digit - '0');
    if (output.index > 10'000) return {};
  }
  return output;
}

class Proof {
 public:
  Proof(const FunctionDef& function, const std::vector<int>& ranks) {
    for (int i = 0; i < function.signature().input_arg_size(); ++i) {
      const bool of_element = static_cast<std::size_t>(i) < ranks.size();
      const int rank = of_element ? ranks[static_cast<std::size_t>(i)] : -1;
      values_[function.signature().input_arg(i).name()] = {of_element, rank};
    }
    for (const NodeDef& node : function.node_def()) nodes_[node.name()] = &node;
  }

  std::string run(const FunctionDef& function) {
    for (const NodeDef& node : function.node_def()) {
      // TensorFlow writes a body in any order.
      if (!visit(node.name())) return why_;
    }
    for (const auto& [name, tensor] : function.ret()) {
      const std::string node(producer_of(tensor));
      if (!values_.contains(node) && !visit(node)) return why_;
      if (!value_of(tensor).of_element) return "a result of it does not depend on the element";
    }
    return "";
  }

 private:
  bool refuse(std::string why) {
    why_ = std::move(why);
    return false;
  }

  // Nodes that one needs are judged before it, without recursion.
  bool visit(const std::string& name) {
    std::vector<std::string> stack = {name};
    std::set<std::string> open;
    while (!stack.empty()) {
      const std::string top = stack.back();
      const auto found = nodes_.find(top);
      if (values_.contains(top)) {
        stack.pop_back();
        continue;
      }
      if (found == nodes_.end()) return refuse("its body is incomplete");
      bool ready = true;
      for (const std::string& input : found->second->input()) {
        const std::string producer(producer_of(input));
        if (producer.empty() || values_.contains(producer)) continue;
        stack.push_back(producer);
        ready = false;
      }
      if (ready) {
        if (!judge(*found->second)) return false;
        stack.pop_back();
      } else if (!open.insert(top).second) {
        return refuse("its body has a cycle");
      }
    }
    return true;
  }

  Value value_of(std::string_view input) const {
    const auto found = values_.find(std::string(producer_of(input)));
    if (found == values_.end()) return {};
    const auto dense = dense_ranks_.find(found->first);
    if (dense == dense_ranks_.end()) return found->second;
    const Output output = output_of(input);
    if (output.name != "dense_values" || output.index >= dense->second.size()) return {true, -1};
    return {true, dense->second[output.index]};
  }

  // Data inputs, control inputs left out.
  std::vector<Value> inputs_of(const NodeDef& node) const {
    std::vector<Value> inputs;
    for (const std::string& input : node.input())
      if (!producer_of(input).empty()) inputs.push_back(value_of(input));
    return inputs;
  }

  bool judge(const NodeDef& node) {
    const std::vector<Value> inputs = inputs_of(node);
    const bool of_element = std::ranges::any_of(inputs, &Value::of_element);
    if (node.op() == "Const") return judge_constant(node);
    if (node.op() == "NoOp") return set(node, {});
    if (node.op() == "DecodeCSV") return judge_csv(node, inputs);
    if (node.op() == "ParseExampleV2") return judge_example(node, inputs);
    if (node.op() == "Pack") return judge_pack(node, inputs);
    if (node.op() == "ExpandDims") return judge_expand(node, inputs);
    if (!std::ranges::binary_search(kElementwise, std::string_view(node.op())))
      return refuse(fmt::format("{} has no batch form that is known to be the same", node.op()));
    if (!of_element) {  // a constant computed from constants
      const bool alone = inputs.size() == 1;
      return set(node, {false, alone ? inputs.front().rank : -1});
    }
    return judge_elementwise(node, inputs);
  }

  bool set(const NodeDef& node, Value value) {
    values_[node.name()] = value;
    return true;
  }

  bool judge_constant(const NodeDef& node) {
    const AttrValue* value = attribute(node, "value");
    if (value == nullptr || value->tensor().tensor_shape().unknown_rank())
      return set(node, {false, -1});
    return set(node, {false, value->tensor().tensor_shape().dim_size()});
  }

  // Vector kernels saturate where scalar ones wrap around, keep other bits of a bfloat16 NaN, and
  // sum and divide the parts of a complex number in another order.
  static bool rounds_otherwise(const NodeDef& node) {
    for (const auto& [name, attribute] : node.attr())
      if (attribute.type() == tensorflow::DT_COMPLEX64 ||
          attribute.type() == tensorflow::DT_COMPLEX128)
        return true;
    const auto type_of = [&](const char* name) {
      const AttrValue* type = attribute(node, name);
      return type == nullptr ? tensorflow::DT_INVALID : type->type();
    };
    const auto from = type_of("SrcT"), to = type_of("DstT");
    if (std::ranges::count(std::array{from, to, type_of("T")}, tensorflow::DT_BFLOAT16) > 0)
      return true;
    const auto is_any_of = [](auto type, auto... types) { return ((type == types) || ...); };
    return is_any_of(from, tensorflow::DT_HALF, tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE) &&
           !is_any_of(to, tensorflow::DT_HALF, tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE,
                      tensorflow::DT_INT32, tensorflow::DT_INT64, tensorflow::DT_BOOL);
  }

  bool judge_elementwise(const NodeDef& node, const std::vector<Value>& inputs) {
    if (rounds_otherwise(node))
      return refuse(fmt::format("{} rounds otherwise in a vector", node.op()));
    const int rank = std::ranges::find_if(inputs, &Value::of_element)->rank;
    for (const Value& input : inputs) {
      const bool fits = input.of_element ? input.rank == rank : input.rank <= rank;
      if (input.rank < 0 || !fits)
        return refuse(fmt::format("{} combines tensors of other or unknown ranks", node.op()));
    }
    return set(node, {true, rank});
  }

  bool only_first_of_element(const std::vector<Value>& inputs) const {
    return !inputs.empty() && inputs.front().of_element &&
           std::none_of(inputs.begin() + 1, inputs.end(),
                        [](const Value& value) { return value.of_element; });
  }

  bool judge_csv(const NodeDef& node, const std::vector<Value>& inputs) {
    if (!only_first_of_element(inputs))
      return refuse("DecodeCSV takes its default values from the element");
    return set(node, inputs.front());
  }

  bool judge_example(const NodeDef& node, const std::vector<Value>& inputs) {
    const AttrValue* sparse = attribute(node, "num_sparse");
    const AttrValue* ragged = attribute(node, "ragged_value_types");
    const AttrValue* shapes = attribute(node, "dense_shapes");
    if (!only_first_of_element(inputs) || inputs.front().rank != 0 || shapes == nullptr)
      return refuse("ParseExampleV2 takes more than the record from the element");
    if (sparse == nullptr || sparse->i() > 0 ||
        (ragged != nullptr && ragged->list().type_size() > 0))
      return refuse("ParseExampleV2 gives features of varying length");
    std::vector<int>& ranks = dense_ranks_[node.name()];
    for (const auto& shape : shapes->list().shape()) {
      if (shape.unknown_rank() ||
          std::ranges::any_of(shape.dim(), [](const auto& dim) { return dim.size() < 0; }))
        return refuse("ParseExampleV2 gives features of varying length");
      ranks.push_back(shape.dim_size());
    }
    return set(node, {true, -1});
  }

  bool judge_pack(const NodeDef& node, const std::vector<Value>& inputs) {
    if (inputs.empty()) return refuse("Pack has no inputs");
    const int rank = inputs.front().rank;
    for (const Value& input : inputs)
      if (!input.of_element || input.rank < 0 || input.rank != rank)
        return refuse("Pack combines tensors of other or unknown ranks");
    return set(node, {true, rank + 1});
  }

  bool judge_expand(const NodeDef& node, const std::vector<Value>& inputs) {
    if (!only_first_of_element(inputs) || inputs.front().rank < 0 || node.input_size() < 2)
      return refuse("ExpandDims takes its axis from the element");
    const auto axis = nodes_.find(std::string(producer_of(node.input(1))));
    const auto value = axis == nodes_.end() ? std::nullopt : integer_value(*axis->second);
    if (!value || *value >= 0) return refuse("ExpandDims counts its axis from the front");
    return set(node, {true, inputs.front().rank + 1});
  }

  std::map<std::string, const NodeDef*> nodes_;
  std::map<std::string, Value> values_;
  std::map<std::string, std::vector<int>> dense_ranks_;
  std::string why_;
};

const AttrValue* element_types(const NodeDef& dataset) {
  const AttrValue* types = attribute(dataset, "output_types");
  return types ? types : attribute(dataset, "Toutput_types");
}

bool reads_strings(const NodeDef& dataset) {
  const std::string_view op = op_traits(dataset.op()).op;
  return op.starts_with("TFRecordDataset") || op.starts_with("TextLineDataset") ||
         op.starts_with("FixedLengthRecordDataset");
}

}  // namespace

bool holds_plain_tensors(const NodeDef& dataset) {
  const AttrValue* types = element_types(dataset);
  if (types == nullptr || attribute(dataset, "output_shapes") == nullptr)
    return reads_strings(dataset);
  return std::ranges::none_of(types->list().type(), [](int type) {
    return type == tensorflow::DT_VARIANT || type == tensorflow::DT_RESOURCE;
  });
}

namespace {

// Of what stands behind the first `skipped` dimensions.
std::optional<std::vector<int>> ranks_behind(const NodeDef& dataset, int skipped) {
  const AttrValue* shapes = attribute(dataset, "output_shapes");
  if (shapes == nullptr || element_types(dataset) == nullptr || !holds_plain_tensors(dataset))
    return std::nullopt;
  std::vector<int> ranks;
  for (const auto& shape : shapes->list().shape()) {
    if (shape.unknown_rank() || shape.dim_size() < skipped) return std::nullopt;
    const bool known = std::all_of(shape.dim().begin() + skipped, shape.dim().end(),
                                   [](const auto& d) { return d.size() >= 0; });
    if (!known) return std::nullopt;
    ranks.push_back(shape.dim_size() - skipped);
  }
  return ranks;
}

}  // namespace

std::optional<std::vector<int>> element_ranks(const NodeDef& dataset) {
  if (attribute(dataset, "output_shapes") == nullptr && reads_strings(dataset))
    return std::vector<int>{0};
  return ranks_behind(dataset, 0);
}

std::optional<std::vector<int>> row_ranks(const NodeDef& batches) {
  return ranks_behind(batches, 1);
}

std::string why_no_batch_form(const FunctionDef& function, const std::vector<int>& argument_ranks) {
  if (static_cast<std::size_t>(function.signature().input_arg_size()) < argument_ranks.size())
    return "its body is incomplete";
  return Proof(function, argument_ranks).run(function);
}

void take_batch_form(NodeDef& node) {
  node.mutable_attr()->erase("_output_shapes");
  if (node.op() != "Pack") return;
  AttrValue& axis = (*node.mutable_attr())["axis"];
  if (axis.i() >= 0) axis.set_i(axis.i() + 1);
}

}  // namespace plumber
