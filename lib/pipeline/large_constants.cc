// SPDX-License-Identifier: Apache-2.0
#include "pipeline/large_constants.h"

#include <map>

#include "pipeline/graph_scope.h"
#include "pipeline/op_table.h"

namespace plumber {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<tensorflow::NodeDef>;

constexpr double kLeast_bytes = 1 << 20;

double constant_bytes(const tensorflow::NodeDef& node) {
  const auto value = node.attr().find("value");
  if (node.op() != "Const" || value == node.attr().end()) return 0;
  return static_cast<double>(value->second.tensor().ByteSizeLong());
}

// A constant that several nodes take stands in the program once, and goes by the first of them.
void add_constants(const Nodes& nodes, std::vector<LargeConstant>& found) {
  std::map<std::string, std::size_t, std::less<>> by_name;
  for (const auto& node : nodes) {
    const double bytes = constant_bytes(node);
    if (bytes < kLeast_bytes) continue;
    by_name[node.name()] = found.size();
    found.push_back({node.name(), bytes});
  }
  if (by_name.empty()) return;
  for (const auto& node : nodes) {
    if (!is_dataset_op(node.op())) continue;
    for (const std::string& input : node.input()) {
      const auto constant = by_name.find(producer_of(input));
      if (constant == by_name.end()) continue;
      found[constant->second].node = node.name();
      by_name.erase(constant);
    }
  }
}

}  // namespace

std::vector<LargeConstant> large_constants(const tensorflow::GraphDef& graph) {
  std::vector<LargeConstant> found;
  add_constants(graph.node(), found);
  for (const auto& function : graph.library().function()) add_constants(function.node_def(), found);
  return found;
}

}  // namespace plumber
