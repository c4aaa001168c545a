// SPDX-License-Identifier: Apache-2.0
#include "rewrite/source_only.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"
#include "graph.pb.h"
#include "pipeline/op_table.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"

namespace plumber {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

[[noreturn]] void refuse_source(const std::string& name, const std::string& message,
                                const std::string& hint) {
  throw Error(ErrorKind::kInput, name, message, hint);
}

// Looks for readers of files in a node's functions and in those that these call.
class Readers {
 public:
  explicit Readers(GraphDef& graph) {
    for (tensorflow::FunctionDef& function : *graph.mutable_library()->mutable_function())
      functions_[function.signature().name()] = &function;
  }

  bool reads_files(NodeDef& node) {
    if (op_traits(node.op()).kind == Kind::kFileSource) return true;
    std::unordered_set<std::string> seen;
    std::vector<NodeDef*> waiting{&node};
    while (!waiting.empty()) {
      NodeDef* at = waiting.back();
      waiting.pop_back();
      for (const tensorflow::NameAttrList* reference : function_references(*at)) {
        const auto found = functions_.find(reference->name());
        if (found == functions_.end() || !seen.insert(reference->name()).second) continue;
        for (NodeDef& inner : *found->second->mutable_node_def()) {
          if (op_traits(inner.op()).kind == Kind::kFileSource) return true;
          waiting.push_back(&inner);
        }
      }
    }
    return false;
  }

 private:
  std::unordered_map<std::string, tensorflow::FunctionDef*> functions_;
};

std::unordered_map<std::string, NodeDef*> by_name(GraphDef& graph) {
  std::unordered_map<std::string, NodeDef*> nodes;
  for (NodeDef& node : *graph.mutable_node()) nodes[node.name()] = &node;
  return nodes;
}

NodeDef& return_node(GraphDef& graph, const std::string& name) {
  for (NodeDef& node : *graph.mutable_node())
    if (node.op() == "_Retval" && node.input_size() > 0) return node;
  refuse_source(name, "it has no root: no _Retval node", "record the trace again");
}

// All nodes that this one needs, in no order.
std::unordered_set<std::string> needed_by(GraphDef& graph, NodeDef& last) {
  const auto nodes = by_name(graph);
  std::unordered_set<std::string> needed{last.name()};
  std::vector<NodeDef*> waiting{&last};
  while (!waiting.empty()) {
    NodeDef* at = waiting.back();
    waiting.pop_back();
    for (const std::string& input : at->input()) {
      const std::string node(input_node(input));
      const auto found = nodes.find(node);
      if (found != nodes.end() && needed.insert(node).second) waiting.push_back(found->second);
    }
  }
  return needed;
}

// The one that is wanted, or the only one.
NodeDef& source_of(GraphDef& graph, NodeDef& root, const SourceWanted& wanted) {
  const auto needed = needed_by(graph, root);
  Readers readers(graph);
  std::vector<NodeDef*> sources;
  std::vector<std::string> names;
  for (NodeDef& node : *graph.mutable_node()) {
    if (!needed.contains(node.name()) || !readers.reads_files(node)) continue;
    sources.push_back(&node);
    names.push_back(node.name());
  }
  const std::string& name = wanted.program;
  if (sources.empty())
    refuse_source(name, "it has no source that reads files", "there is no disk to measure");
  if (wanted.source.empty() && sources.size() == 1) return *sources.front();
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (wanted.source.empty()) {
    refuse_source(name, fmt::format("it has several sources: {}", list),
                  fmt::format("name one: --source {}", names.front()));
  }
  const auto found = std::ranges::find(names, wanted.source);
  if (found == names.end()) {
    const std::string hint = did_you_mean(wanted.source, names);
    refuse_source(name, fmt::format("'{}' is no source of it", wanted.source),
                  hint.empty() ? fmt::format("sources: {}", list) : hint);
  }
  return *sources[static_cast<std::size_t>(found - names.begin())];
}

// An interleave with so many calls and as long a cycle.
void set_readers(GraphDef& graph, const std::string& source, int readers, const std::string& name) {
  Rewriting program(&graph);
  const GraphIndex::Place place = program.graph.open(source);
  const OpTraits& traits = op_traits(place.node->op());
  const int cycle = input_place(traits.cycle_input, data_inputs(*place.node));
  if (traits.kind != Kind::kInterleave || cycle < 0) {
    if (readers > 1) {
      refuse_source(name, fmt::format("{} reads one file after another", source),
                    "in the source, .interleave(tf.data.TFRecordDataset) over the file names reads "
                    "several");
    }
    program.graph.write_back();
    return;
  }
  set_scalar(*place.body, *place.node, cycle, readers);
  // The list of files again and again: the end of an epoch has fewer readers.
  NodeDef* list = place.body->producer(place.node->input(0));
  if (list != nullptr)
    insert_above(program, {place.body, list}, "RepeatDataset", {constant("", integer_tensor(-1))});
  Edit edit;
  edit.node = source;
  edit.value = static_cast<std::int64_t>(readers);
  const bool legacy = traits.parallelism_input == traits.cycle_input;
  if (!legacy) {
    const bool parallel = input_place(traits.parallelism_input, data_inputs(*place.node)) >= 0;
    edit.kind = parallel ? EditKind::kSetParallelism : EditKind::kConvert;
    edit.to = parallel ? "" : "ParallelInterleaveDatasetV4";
    apply_edit(program, edit);
  }
  program.graph.write_back();
}

}  // namespace

GraphDef source_program(const GraphDef& graph, const SourceWanted& wanted) {
  const std::string& name = wanted.program;
  GraphDef result = graph;
  NodeDef& root = return_node(result, name);
  NodeDef& source = source_of(result, root, wanted);
  for (const char* of_its_elements : {"_plumber_element_spec", "_plumber_length"})
    root.mutable_attr()->erase(of_its_elements);
  for (const std::string& input :
       std::vector<std::string>(root.input().begin(), root.input().end()))
    if (is_control(input)) replace_control(root, input.substr(1), nullptr);
  root.set_input(0, source.name());
  const std::string source_name = source.name();
  const auto needed = needed_by(result, root);
  auto& nodes = *result.mutable_node();
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [&](const NodeDef& node) { return !needed.contains(node.name()); }),
              nodes.end());
  if (wanted.readers > 0) set_readers(result, source_name, wanted.readers, name);
  return result;
}

std::string source_only_program(const GraphDef& graph, const SourceWanted& wanted,
                                ProgramFormat format) {
  const GraphDef result = source_program(graph, wanted);
  return format == ProgramFormat::kText ? graph_text(result) : graph_bytes(result);
}

}  // namespace plumber
