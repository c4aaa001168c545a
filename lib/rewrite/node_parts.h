// SPDX-License-Identifier: Apache-2.0
// Small questions about one NodeDef: its inputs, its attributes, what its elements are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph.pb.h"

namespace plumber {

inline bool is_control(std::string_view input) { return input.starts_with('^'); }

/// The node that an input names: "x" of "x", "x:1", "x:handle:0", "^x".
std::string_view input_node(std::string_view input);

/// Number of data inputs; control inputs stand behind them.
int data_inputs(const tensorflow::NodeDef& node);

/// The control input "^from" becomes "^heir", or goes away if `heir` is null or already there.
void replace_control(tensorflow::NodeDef& node, const std::string& from,
                     const tensorflow::NodeDef* heir);

/// The same for the nodes that a function's end waits for.
void replace_control_results(tensorflow::FunctionDef& function, const std::string& from,
                             const tensorflow::NodeDef* heir);

/// The attribute, or nullptr.
const tensorflow::AttrValue* attribute(const tensorflow::NodeDef& node, const std::string& name);

void set_flag(tensorflow::NodeDef& node, const std::string& name, bool value);
void set_text(tensorflow::NodeDef& node, const std::string& name, const std::string& value);
void drop_attributes(tensorflow::NodeDef& node, const std::vector<std::string>& names);

/// The functions that a node names (lists of functions too): the per-element one first, the others
/// by the name of their attribute.
std::vector<tensorflow::NameAttrList*> function_references(tensorflow::NodeDef& node);

/// The name of the per-element function, empty if the node has none.
std::string function_of(const tensorflow::NodeDef& node);

/// Number of captured arguments (Targuments), which stand right behind the data set that is read.
int captured_arguments(const tensorflow::NodeDef& node);

/// Types and shapes of the components of one element.
struct ElementSpec {
  tensorflow::AttrValue types;
  tensorflow::AttrValue shapes;
};

/// What the node's elements are; nullopt if it does not say. Readers of files have no attributes
/// for it: their elements are scalar strings.
std::optional<ElementSpec> element_spec(const tensorflow::NodeDef& node);

bool same_spec(const ElementSpec& a, const ElementSpec& b);

void set_spec(tensorflow::NodeDef& node, const ElementSpec& spec);

/// The spec of `node`; refused if it is unknown.
ElementSpec known_spec(const tensorflow::NodeDef& node);

tensorflow::TensorProto integer_tensor(std::int64_t value,
                                       tensorflow::DataType type = tensorflow::DT_INT64);
tensorflow::TensorProto text_tensor(const std::string& value);

/// A Const node (still without a place) of that name.
tensorflow::NodeDef constant(const std::string& name, const tensorflow::TensorProto& value);

/// Throws the Error(kInput) of an edit that cannot be made; apply_plan adds edit and node.
[[noreturn]] void refuse(const std::string& message, const std::string& way_out = "");

}  // namespace plumber
