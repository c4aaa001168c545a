// SPDX-License-Identifier: Apache-2.0
// Programs as text, one node a line, read and written: what tests of rewrites compare.
//
//   stop = 10
//   range = RangeDataset(start, stop, step) : int64
//   map = MapDataset(range, offset, ^table) Targuments=[int64] f=@add : int64[2,?], string
//   root = _Retval(map)
//   def add(x: int64, y: int64) -> z: int64 = sum:z:0
//     sum = AddV2(x, y)
//
// Constants: 10 (int64), int32 10, true, "text", resource "name". Attributes: true, 10, "text",
// @function, [types]; options=<...> is a serialised Options in protobuf's text form. After the
// colon stand the components of an element; a shape is "*" where the rank is unknown.
#pragma once

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph.pb.h"
#include "options.pb.h"

namespace plumber {
namespace program_text {

using tensorflow::AttrValue;
using tensorflow::DataType;
using tensorflow::FunctionDef;
using tensorflow::GraphDef;
using tensorflow::NodeDef;

inline const std::map<std::string, DataType>& types() {
  static const std::map<std::string, DataType> names = {
      {"int64", tensorflow::DT_INT64},       {"int32", tensorflow::DT_INT32},
      {"string", tensorflow::DT_STRING},     {"bool", tensorflow::DT_BOOL},
      {"variant", tensorflow::DT_VARIANT},   {"float", tensorflow::DT_FLOAT},
      {"resource", tensorflow::DT_RESOURCE},
  };
  return names;
}

inline std::string type_name(int type) {
  for (const auto& [name, value] : types())
    if (value == type) return name;
  return "type" + std::to_string(type);
}

// A cursor over one line.
class Line {
 public:
  explicit Line(std::string text) : text_(std::move(text)) {}
  bool at_end() const { return at_ == text_.size(); }
  bool take(const std::string& word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  void need(const std::string& word) {
    if (!take(word)) throw std::runtime_error("'" + word + "' expected: " + text_.substr(at_));
  }
  // Up to (not including) the first of these characters.
  std::string until(const std::string& ends) {
    const std::size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    std::string part = text_.substr(at_, end - at_);
    at_ = end;
    return part;
  }
  std::string quoted() {
    need("\"");
    std::string part = until("\"");
    need("\"");
    return part;
  }
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

inline std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// ---- constants

inline void read_constant(Line& line, NodeDef& node) {
  tensorflow::TensorProto tensor;
  tensor.mutable_tensor_shape();
  tensor.set_dtype(tensorflow::DT_INT64);
  if (line.next() == '"') {
    tensor.set_dtype(tensorflow::DT_STRING);
    tensor.add_string_val(line.quoted());
  } else if (line.take("resource ")) {
    tensor.set_dtype(tensorflow::DT_RESOURCE);
    tensor.add_resource_handle_val()->set_name(line.quoted());
  } else if (line.take("int32 ")) {
    tensor.set_dtype(tensorflow::DT_INT32);
    tensor.add_int_val(std::stoi(line.until(" ")));
  } else if (line.next() == 't' || line.next() == 'f') {
    tensor.set_dtype(tensorflow::DT_BOOL);
    tensor.add_bool_val(line.until(" ") == "true");
  } else {
    tensor.add_int64_val(std::stoll(line.until(" ")));
  }
  node.set_op("Const");
  (*node.mutable_attr())["dtype"].set_type(tensor.dtype());
  *(*node.mutable_attr())["value"].mutable_tensor() = tensor;
}

inline std::string constant_text(const tensorflow::TensorProto& tensor) {
  switch (tensor.dtype()) {
    case tensorflow::DT_STRING:
      return "\"" + tensor.string_val(0) + "\"";
    case tensorflow::DT_RESOURCE:
      return "resource \"" + tensor.resource_handle_val(0).name() + "\"";
    case tensorflow::DT_INT32:
      return "int32 " + std::to_string(tensor.int_val(0));
    case tensorflow::DT_BOOL:
      return tensor.bool_val(0) ? "true" : "false";
    default:
      return std::to_string(tensor.int64_val(0));
  }
}

// ---- attributes

inline AttrValue read_attribute(Line& line) {
  AttrValue value;
  if (line.next() == '"') {
    value.set_s(line.quoted());
  } else if (line.take("@")) {
    value.mutable_func()->set_name(line.until(" "));
  } else if (line.take("<")) {
    tensorflow::data::Options options;
    if (!google::protobuf::TextFormat::ParseFromString(line.until(">"), &options))
      throw std::runtime_error("bad options");
    line.need(">");
    value.set_s(options.SerializeAsString());
  } else if (line.take("[")) {
    value.mutable_list();
    while (!line.take("]")) {
      value.mutable_list()->add_type(types().at(line.until(",]")));
      line.take(", ");
    }
  } else {
    const std::string word = line.until(" ");
    if (word == "true" || word == "false")
      value.set_b(word == "true");
    else
      value.set_i(std::stoll(word));
  }
  return value;
}

inline std::string attribute_text(const std::string& name, const AttrValue& value) {
  if (name == "serialized_options") {
    tensorflow::data::Options options;
    options.ParseFromString(value.s());
    return "options=<" + options.ShortDebugString() + ">";
  }
  if (value.has_func()) return name + "=@" + value.func().name();
  if (value.has_list()) {
    std::vector<std::string> names;
    for (const int type : value.list().type()) names.push_back(type_name(type));
    return name + "=[" + join(names) + "]";
  }
  if (value.value_case() == AttrValue::kB) return name + (value.b() ? "=true" : "=false");
  if (value.value_case() == AttrValue::kI) return name + "=" + std::to_string(value.i());
  return name + "=\"" + value.s() + "\"";
}

// ---- what the elements are

inline std::string types_attribute(const std::string& op) {
  const bool is_other = op.starts_with("PaddedBatch") || op.starts_with("Tensor");
  return is_other ? "Toutput_types" : "output_types";
}

inline void read_spec(Line& line, NodeDef& node) {
  auto* names = (*node.mutable_attr())[types_attribute(node.op())].mutable_list();
  auto* shapes = (*node.mutable_attr())["output_shapes"].mutable_list();
  while (!line.at_end()) {
    names->add_type(types().at(line.until("[,")));
    auto* shape = shapes->add_shape();
    if (line.take("[")) {
      while (!line.take("]")) {
        const std::string size = line.until(",]");
        if (size == "*")
          shape->set_unknown_rank(true);
        else
          shape->add_dim()->set_size(size == "?" ? -1 : std::stoll(size));
        line.take(",");
      }
    }
    line.take(", ");
  }
}

inline std::string spec_text(const NodeDef& node) {
  const std::string types_name = types_attribute(node.op());
  if (!node.attr().contains(types_name)) return "";
  std::vector<std::string> parts;
  const auto& names = node.attr().at(types_name).list();
  const auto& shapes = node.attr().at("output_shapes").list();
  for (int i = 0; i < names.type_size(); ++i) {
    std::string sizes = shapes.shape(i).unknown_rank() ? "*" : "";
    for (const auto& dim : shapes.shape(i).dim())
      sizes += (sizes.empty() ? "" : ",") + (dim.size() < 0 ? "?" : std::to_string(dim.size()));
    parts.push_back(type_name(names.type(i)) + (sizes.empty() ? "" : "[" + sizes + "]"));
  }
  return " : " + join(parts);
}

// ---- nodes and functions

inline NodeDef read_node(Line line) {
  NodeDef node;
  line.take("  ");
  node.set_name(line.until(" "));
  line.need(" = ");
  const bool is_op = (line.next() >= 'A' && line.next() <= 'Z') || line.next() == '_';
  if (!is_op) {
    read_constant(line, node);
    return node;
  }
  node.set_op(line.until("("));
  line.need("(");
  while (!line.take(")")) {
    node.add_input(line.until(",)"));
    line.take(", ");
  }
  while (line.take(" ")) {
    if (line.take(": ")) {
      read_spec(line, node);
      break;
    }
    std::string name = line.until("=");
    line.need("=");
    (*node.mutable_attr())[name == "options" ? "serialized_options" : name] = read_attribute(line);
  }
  return node;
}

inline std::string node_text(const NodeDef& node) {
  if (node.op() == "Const")
    return node.name() + " = " + constant_text(node.attr().at("value").tensor()) + "\n";
  const std::vector<std::string> inputs(node.input().begin(), node.input().end());
  std::string text = node.name() + " = " + node.op() + "(" + join(inputs) + ")";
  std::map<std::string, std::string> attributes;
  for (const auto& [name, value] : node.attr())
    if (name != "output_shapes" && name != types_attribute(node.op()))
      attributes[name] = attribute_text(name, value);
  for (const auto& [name, attribute] : attributes) text += " " + attribute;
  return text + spec_text(node) + "\n";
}

inline void read_signature(Line line, FunctionDef& function) {
  line.need("def ");
  auto* signature = function.mutable_signature();
  signature->set_name(line.until("("));
  line.need("(");
  while (!line.take(")")) {
    auto* argument = signature->add_input_arg();
    argument->set_name(line.until(":"));
    line.need(": ");
    argument->set_type(types().at(line.until(",)")));
    line.take(", ");
  }
  line.need(" -> ");
  while (!line.at_end()) {
    auto* result = signature->add_output_arg();
    result->set_name(line.until(":"));
    line.need(": ");
    result->set_type(types().at(line.until(" ")));
    line.need(" = ");
    (*function.mutable_ret())[result->name()] = line.until(",");
    line.take(", ");
  }
}

inline std::string function_text(const FunctionDef& function) {
  std::vector<std::string> arguments;
  std::vector<std::string> results;
  for (const auto& argument : function.signature().input_arg())
    arguments.push_back(argument.name() + ": " + type_name(argument.type()));
  for (const auto& result : function.signature().output_arg())
    results.push_back(result.name() + ": " + type_name(result.type()) + " = " +
                      function.ret().at(result.name()));
  std::string text =
      "def " + function.signature().name() + "(" + join(arguments) + ") -> " + join(results) + "\n";
  for (const NodeDef& node : function.node_def()) text += "  " + node_text(node);
  return text;
}

}  // namespace program_text

/// The program of a text as above.
inline tensorflow::GraphDef program_of(const std::string& text) {
  tensorflow::GraphDef graph;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (line.starts_with("def "))
      program_text::read_signature(program_text::Line(line),
                                   *graph.mutable_library()->add_function());
    else if (line.starts_with("  "))
      *graph.mutable_library()->mutable_function()->rbegin()->add_node_def() =
          program_text::read_node(program_text::Line(line));
    else
      *graph.add_node() = program_text::read_node(program_text::Line(line));
  }
  return graph;
}

/// The text of a program, in its own order.
inline std::string describe(const tensorflow::GraphDef& graph) {
  std::string text;
  for (const auto& node : graph.node()) text += program_text::node_text(node);
  for (const auto& function : graph.library().function())
    text += program_text::function_text(function);
  return text;
}

}  // namespace plumber
