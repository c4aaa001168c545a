// SPDX-License-Identifier: Apache-2.0
#include "pipeline/seed_generators.h"

#include <fmt/format.h>

#include <map>

#include "pipeline/graph_scope.h"
#include "pipeline/op_table.h"

namespace plumber {
namespace {

using tensorflow::NodeDef;

bool shuffles(const NodeDef& node) {
  const Kind kind = op_traits(node.op()).kind;
  return kind == Kind::kShuffle || kind == Kind::kShuffleRepeat;
}

// The name of the generator that a shuffle reads, the resource among its inputs; empty if none.
std::string generator_of(const GraphScope& scope, const NodeDef& node) {
  const NodeDef* generator = scope.input(node, -1);
  if (!generator || generator->op() != "Const") return "";
  const auto value = generator->attr().find("value");
  if (value == generator->attr().end()) return "";
  const auto& handles = value->second.tensor().resource_handle_val();
  // TensorFlow numbers its generators; another name says nothing of what is shared.
  const bool numbered =
      !handles.empty() && handles[0].name().find("SeedGenerator_") != std::string::npos;
  return numbered ? handles[0].name() : "";
}

}  // namespace

std::vector<std::string> shared_seed_generators(const tensorflow::GraphDef& graph) {
  const GraphScope scope("", graph.node());
  std::map<std::string, std::vector<std::string>> users;
  for (const NodeDef& node : graph.node()) {
    if (!shuffles(node)) continue;
    const std::string generator = generator_of(scope, node);
    if (!generator.empty()) users[generator].push_back(node.name());
  }
  std::vector<std::string> found;
  for (const auto& [generator, nodes] : users)
    if (nodes.size() > 1)
      found.push_back(fmt::format(
          "{} and {} are one shuffle used {} times: a program read back shuffles each on its own, "
          "so elements may be lost or doubled; edit the source instead of loading a written "
          "program",
          nodes[0], nodes[1], nodes.size()));
  return found;
}

}  // namespace plumber
