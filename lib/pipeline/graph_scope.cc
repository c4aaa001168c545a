// SPDX-License-Identifier: Apache-2.0
#include "pipeline/graph_scope.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"

namespace plumber {
namespace {

using tensorflow::NodeDef;
using tensorflow::TensorProto;

// Programs have one or two in a row; a longer chain, or a loop, is not followed to its end.
constexpr std::size_t kMostIdentities = 64;

// A scalar may stand in tensor_content (little endian) instead of its typed field.
template <class T>
std::optional<T> from_content(const TensorProto& tensor) {
  if (tensor.tensor_content().size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, tensor.tensor_content().data(), sizeof(T));
  return value;
}

// The value of a scalar Const, nullptr for all else.
const TensorProto* scalar_of(const NodeDef& node) {
  if (node.op() != "Const") return nullptr;
  const auto value = node.attr().find("value");
  const bool is_scalar =
      value != node.attr().end() && value->second.tensor().tensor_shape().dim_size() == 0;
  return is_scalar ? &value->second.tensor() : nullptr;
}

}  // namespace

std::string_view producer_of(std::string_view input) {
  if (input.empty() || input.front() == '^') return {};
  return input.substr(0, input.find(':'));
}

GraphScope::GraphScope(const std::string& where,
                       const google::protobuf::RepeatedPtrField<NodeDef>& nodes) {
  by_name_.reserve(static_cast<std::size_t>(nodes.size()));
  for (const NodeDef& node : nodes)
    if (!by_name_.emplace(node.name(), &node).second)
      throw Error(ErrorKind::kInput, where, fmt::format("two nodes are named '{}'", node.name()),
                  "the program is damaged; record the trace again");
}

const NodeDef* GraphScope::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const NodeDef* GraphScope::producer(std::string_view input) const {
  const NodeDef* node = find(producer_of(input));
  for (std::size_t steps = kMostIdentities; node && node->op() == "Identity" && steps > 0; --steps)
    node = node->input_size() > 0 ? find(producer_of(node->input(0))) : nullptr;
  return node && node->op() == "Identity" ? nullptr : node;
}

std::string_view GraphScope::argument(std::string_view input) const {
  std::string_view name = producer_of(input);
  const NodeDef* node = find(name);
  for (std::size_t steps = kMostIdentities; node && node->op() == "Identity" && steps > 0;
       --steps) {
    name = node->input_size() > 0 ? producer_of(node->input(0)) : std::string_view();
    node = find(name);
  }
  return name;
}

const NodeDef* GraphScope::input(const NodeDef& node, int place) const {
  int data_inputs = 0;
  while (data_inputs < node.input_size() && node.input(data_inputs).rfind('^', 0) != 0)
    ++data_inputs;
  const int index = place < 0 ? data_inputs + place : place;
  return index >= 0 && index < data_inputs ? producer(node.input(index)) : nullptr;
}

const TensorProto* GraphScope::constant(const NodeDef& node, int place) const {
  const NodeDef* source = input(node, place);
  return source ? scalar_of(*source) : nullptr;
}

std::optional<std::int64_t> integer_value(const NodeDef& node) {
  const TensorProto* tensor = scalar_of(node);
  if (!tensor) return std::nullopt;
  if (tensor->int64_val_size() == 1) return tensor->int64_val(0);
  if (tensor->int_val_size() == 1) return tensor->int_val(0);
  if (tensor->dtype() == tensorflow::DT_INT64) {
    if (tensor->tensor_content().empty()) return 0;
    return from_content<std::int64_t>(*tensor);
  }
  if (tensor->dtype() == tensorflow::DT_INT32) {
    if (tensor->tensor_content().empty()) return 0;
    return from_content<std::int32_t>(*tensor);
  }
  return std::nullopt;
}

std::optional<std::int64_t> GraphScope::integer(const NodeDef& node, int place) const {
  const NodeDef* source = input(node, place);
  return source ? integer_value(*source) : std::nullopt;
}

std::optional<bool> GraphScope::boolean(const NodeDef& node, int place) const {
  const TensorProto* tensor = constant(node, place);
  if (!tensor || tensor->dtype() != tensorflow::DT_BOOL) return std::nullopt;
  if (tensor->bool_val_size() == 1) return tensor->bool_val(0);
  return !tensor->tensor_content().empty() && tensor->tensor_content()[0] != 0;
}

std::optional<std::string> GraphScope::text(const NodeDef& node, int place) const {
  const TensorProto* tensor = constant(node, place);
  if (!tensor || tensor->dtype() != tensorflow::DT_STRING) return std::nullopt;
  return tensor->string_val_size() == 1 ? tensor->string_val(0) : std::string();
}

}  // namespace plumber
