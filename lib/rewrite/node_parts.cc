// SPDX-License-Identifier: Apache-2.0
#include "rewrite/node_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "pipeline/op_table.h"

namespace plumber {

using tensorflow::AttrValue;
using tensorflow::NameAttrList;
using tensorflow::NodeDef;

std::string_view input_node(std::string_view input) {
  if (is_control(input)) input.remove_prefix(1);
  return input.substr(0, input.find(':'));
}

int data_inputs(const NodeDef& node) {
  int count = 0;
  while (count < node.input_size() && !is_control(node.input(count))) ++count;
  return count;
}

void replace_control(NodeDef& node, const std::string& from, const NodeDef* heir) {
  const std::string replacement = heir ? "^" + heir->name() : "";
  for (int i = node.input_size() - 1; i >= 0 && is_control(node.input(i)); --i) {
    if (input_node(node.input(i)) != from) continue;
    if (heir && std::ranges::count(node.input(), replacement) == 0)
      node.set_input(i, replacement);
    else
      node.mutable_input()->DeleteSubrange(i, 1);
  }
}

void replace_control_results(tensorflow::FunctionDef& function, const std::string& from,
                             const NodeDef* heir) {
  std::vector<std::string> gone;
  for (auto& [name, node] : *function.mutable_control_ret()) {
    if (node != from) continue;
    if (heir)
      node = heir->name();
    else
      gone.push_back(name);
  }
  auto* outputs = function.mutable_signature()->mutable_control_output();
  for (const std::string& name : gone) {
    function.mutable_control_ret()->erase(name);
    outputs->erase(std::remove(outputs->begin(), outputs->end(), name), outputs->end());
  }
}

const AttrValue* attribute(const NodeDef& node, const std::string& name) {
  const auto found = node.attr().find(name);
  return found == node.attr().end() ? nullptr : &found->second;
}

void set_flag(NodeDef& node, const std::string& name, bool value) {
  (*node.mutable_attr())[name].set_b(value);
}

void set_text(NodeDef& node, const std::string& name, const std::string& value) {
  (*node.mutable_attr())[name].set_s(value);
}

void drop_attributes(NodeDef& node, const std::vector<std::string>& names) {
  for (const std::string& name : names) node.mutable_attr()->erase(name);
}

std::vector<NameAttrList*> function_references(NodeDef& node) {
  const std::string first(op_traits(node.op()).function);
  std::vector<std::string> names;
  for (const auto& [name, value] : node.attr())
    if (value.has_func() || value.list().func_size() > 0) names.push_back(name);
  std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
    return std::pair(a != first, a) < std::pair(b != first, b);
  });
  std::vector<NameAttrList*> references;
  for (const std::string& name : names) {
    AttrValue& value = node.mutable_attr()->at(name);
    if (value.has_func()) references.push_back(value.mutable_func());
    if (value.has_list())
      for (NameAttrList& function : *value.mutable_list()->mutable_func())
        references.push_back(&function);
  }
  return references;
}

std::string function_of(const NodeDef& node) {
  const std::string_view name = op_traits(node.op()).function;
  const AttrValue* value = name.empty() ? nullptr : attribute(node, std::string(name));
  return value ? value->func().name() : "";
}

int captured_arguments(const NodeDef& node) {
  const AttrValue* types = attribute(node, "Targuments");
  return types ? types->list().type_size() : 0;
}

std::optional<ElementSpec> element_spec(const NodeDef& node) {
  const AttrValue* types = attribute(node, "output_types");
  if (!types) types = attribute(node, "Toutput_types");
  const AttrValue* shapes = attribute(node, "output_shapes");
  if (types && shapes) return ElementSpec{*types, *shapes};
  const std::string_view op = op_traits(node.op()).op;
  if (!op.starts_with("TFRecordDataset") && !op.starts_with("TextLineDataset") &&
      !op.starts_with("FixedLengthRecordDataset"))
    return std::nullopt;
  ElementSpec spec;
  spec.types.mutable_list()->add_type(tensorflow::DT_STRING);
  spec.shapes.mutable_list()->add_shape();
  return spec;
}

bool same_spec(const ElementSpec& a, const ElementSpec& b) {
  const auto& left = a.shapes.list().shape();
  const auto& right = b.shapes.list().shape();
  return std::ranges::equal(a.types.list().type(), b.types.list().type()) &&
         std::ranges::equal(left, right, [](const auto& one, const auto& other) {
           return one.unknown_rank() == other.unknown_rank() &&
                  std::ranges::equal(
                      one.dim(), other.dim(), {}, [](const auto& d) { return d.size(); },
                      [](const auto& d) { return d.size(); });
         });
}

void set_spec(NodeDef& node, const ElementSpec& spec) {
  (*node.mutable_attr())["output_types"] = spec.types;
  (*node.mutable_attr())["output_shapes"] = spec.shapes;
}

ElementSpec known_spec(const NodeDef& node) {
  if (const std::optional<ElementSpec> spec = element_spec(node)) return *spec;
  refuse(fmt::format("the elements' types of '{}' ({}) are not known", node.name(), node.op()),
         "name a data set that has the attributes output_types and output_shapes");
}

tensorflow::TensorProto integer_tensor(std::int64_t value, tensorflow::DataType type) {
  tensorflow::TensorProto tensor;
  tensor.set_dtype(type);
  tensor.mutable_tensor_shape();
  if (type == tensorflow::DT_INT32)
    tensor.add_int_val(static_cast<std::int32_t>(value));
  else
    tensor.add_int64_val(value);
  return tensor;
}

tensorflow::TensorProto text_tensor(const std::string& value) {
  tensorflow::TensorProto tensor;
  tensor.set_dtype(tensorflow::DT_STRING);
  tensor.mutable_tensor_shape();
  tensor.add_string_val(value);
  return tensor;
}

NodeDef constant(const std::string& name, const tensorflow::TensorProto& value) {
  NodeDef node;
  node.set_name(name);
  node.set_op("Const");
  (*node.mutable_attr())["dtype"].set_type(value.dtype());
  *(*node.mutable_attr())["value"].mutable_tensor() = value;
  return node;
}

void refuse(const std::string& message, const std::string& way_out) {
  throw Error(ErrorKind::kInput, "", message, way_out);
}

}  // namespace plumber
