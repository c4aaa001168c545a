// SPDX-License-Identifier: Apache-2.0
#include "pipeline/fingerprint.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/fnv_hash.h"
#include "pipeline/graph_scope.h"

namespace plumber {
namespace {

using tensorflow::FunctionDef;
using tensorflow::GraphDef;
using tensorflow::NodeDef;

template <class T, class Name>
std::vector<const T*> by_name(const google::protobuf::RepeatedPtrField<T>& items, Name name) {
  std::vector<const T*> sorted;
  for (const T& item : items) sorted.push_back(&item);
  std::ranges::stable_sort(sorted, {}, [&](const T* item) { return name(*item); });
  return sorted;
}

void add_functions(const NodeDef& node, FnvHash& hash) {
  std::vector<std::string> names;
  for (const auto& [name, value] : node.attr()) {
    if (value.has_func()) names.push_back(name + "=" + value.func().name());
    for (const auto& function : value.list().func()) names.push_back(name + "=" + function.name());
  }
  std::ranges::stable_sort(names);
  for (const std::string& name : names) hash.add(name);
}

// A constant counts where it is read, whatever its node is called.
void add_node(const GraphScope& scope, const NodeDef& node, FnvHash& hash) {
  hash.add(node.name());
  hash.add(node.op());
  for (int i = 0; i < node.input_size(); ++i) {
    hash.add(node.input(i));
    if (const auto number = scope.integer(node, i)) hash.add(std::to_string(*number));
    if (const auto flag = scope.boolean(node, i)) hash.add(*flag ? "true" : "false");
  }
  add_functions(node, hash);
}

}  // namespace

std::string graph_fingerprint(const GraphDef& graph) {
  FnvHash hash;
  const GraphScope scope("", graph.node());
  for (const NodeDef* node : by_name(graph.node(), [](const NodeDef& n) { return n.name(); }))
    add_node(scope, *node, hash);
  const auto name_of = [](const FunctionDef& f) { return f.signature().name(); };
  for (const FunctionDef* function : by_name(graph.library().function(), name_of)) {
    hash.add(name_of(*function));
    for (const NodeDef* node :
         by_name(function->node_def(), [](const NodeDef& n) { return n.name(); }))
      hash.add(node->op());
  }
  return fmt::format("{:016x}", hash.value());
}

std::string program_hash(const GraphDef& graph) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream output(&stream);
    output.SetSerializationDeterministic(true);
    graph.SerializeToCodedStream(&output);
  }
  FnvHash hash;
  hash.add(bytes);
  return fmt::format("{:016x}", hash.value());
}

}  // namespace plumber
