// SPDX-License-Identifier: Apache-2.0
// One level of a program: the main graph or one function's body, with its nodes by name and its
// constants. Reads only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "graph.pb.h"

namespace plumber {

/// The node part of an input: "x" of "x", "x:1", "x:handle:0"; empty for control inputs "^x".
std::string_view producer_of(std::string_view input);

/// The value of a scalar integer Const; nullopt for all else.
std::optional<std::int64_t> integer_value(const tensorflow::NodeDef& node);

class GraphScope {
 public:
  /// Throws Error(kInput) at `where` if two nodes have one name.
  GraphScope(const std::string& where,
             const google::protobuf::RepeatedPtrField<tensorflow::NodeDef>& nodes);

  /// The node of that name, or nullptr (function arguments, gone nodes).
  const tensorflow::NodeDef* find(std::string_view name) const;

  /// The node behind an input, through Identity; nullptr for arguments and control inputs.
  const tensorflow::NodeDef* producer(std::string_view input) const;

  /// The name of the argument behind an input, through Identity; that of a node if there is none.
  std::string_view argument(std::string_view input) const;

  /// The data input at `place` (0 first, -1 last; control inputs do not count), or nullptr.
  const tensorflow::NodeDef* input(const tensorflow::NodeDef& node, int place) const;

  /// Scalar constants behind an input; nullopt if it is not a constant scalar of that type.
  std::optional<std::int64_t> integer(const tensorflow::NodeDef& node, int place) const;
  std::optional<bool> boolean(const tensorflow::NodeDef& node, int place) const;
  std::optional<std::string> text(const tensorflow::NodeDef& node, int place) const;

 private:
  const tensorflow::TensorProto* constant(const tensorflow::NodeDef& node, int place) const;
  std::unordered_map<std::string_view, const tensorflow::NodeDef*> by_name_;
};

}  // namespace plumber
