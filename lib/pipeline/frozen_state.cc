// SPDX-License-Identifier: Apache-2.0
#include "pipeline/frozen_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "pipeline/graph_scope.h"

namespace plumber {
namespace {

bool reads_variable(const Function& function) {
  const auto& reads = function.facts.state_reads;
  return std::find(reads.begin(), reads.end(), "ReadVariableOp") != reads.end();
}

// MutableHashTableV2, MutableDenseHashTableV2, AnonymousMutableHashTableOfTensors, ...
bool is_mutable_table(std::string_view op) {
  return op.find("Mutable") != std::string_view::npos &&
         op.find("HashTable") != std::string_view::npos;
}

// With what hands their handles on: TensorFlow writes a table's Identity behind its import. The
// serialised program names a node before those that read it.
std::set<std::string> mutable_tables(const tensorflow::GraphDef& graph) {
  std::set<std::string> tables;
  for (const auto& node : graph.node()) {
    const bool handed_on = node.op() == "Identity" && node.input_size() > 0 &&
                           tables.contains(std::string(producer_of(node.input(0))));
    if (is_mutable_table(node.op()) || handed_on) tables.insert(node.name());
  }
  return tables;
}

}  // namespace

std::vector<std::string> frozen_state(const tensorflow::GraphDef& graph, const Pipeline& pipeline) {
  std::vector<std::string> warnings;
  for (const Node& node : pipeline.nodes)
    if (node.function && reads_variable(*node.function))
      warnings.push_back(fmt::format(
          "{}: its function reads a variable; a written program keeps the value that it had when "
          "the trace was recorded",
          node.name));
  const std::set<std::string> tables = mutable_tables(graph);
  if (tables.empty()) return warnings;
  for (const auto& node : graph.node()) {
    if (!is_dataset_op(node.op())) continue;
    const bool captures = std::ranges::any_of(node.input(), [&](const std::string& input) {
      return tables.contains(std::string(producer_of(input)));
    });
    if (captures)
      warnings.push_back(fmt::format(
          "{}: its function uses a table that the program can change; a written program keeps the "
          "contents that it had when the trace was recorded",
          node.name()));
  }
  return warnings;
}

}  // namespace plumber
