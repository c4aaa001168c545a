// SPDX-License-Identifier: Apache-2.0
#include "pipeline/align.h"

#include <fmt/format.h>

#include <set>
#include <unordered_map>

namespace plumber {
namespace {

// The name inside its function: what opstats counters are keyed by. Names may hold a '>'
// themselves.
std::string local_name(const Pipeline& pipeline, const Node& node) {
  if (!node.outer) return node.name;
  return node.name.substr(pipeline[*node.outer].name.size() + 1);
}

// The original's tracer counts a memory cache twice: as the cache and as its reader or writer.
double times_counted(const Node& node) {
  return node.kind == Kind::kCache && node.cache_file.empty() ? 2 : 1;
}

Counters counters_of(const OpCounters& op, const Node& node) {
  const double times = times_counted(node);
  Counters out;
  out.elements = op.elements / times;
  out.service_s = op.service_s;
  out.cpu_s = op.cpu_s;
  out.bytes_produced = op.bytes_produced / times;
  out.disk_bytes = op.disk_bytes;
  out.files_opened = op.files_opened;
  return out;
}

void list_unaligned_nodes(Pipeline& pipeline) {
  for (const Node& node : pipeline.nodes)
    if (!node.aligned && node.kind != Kind::kWrapper) pipeline.unaligned.graph.push_back(node.name);
  if (pipeline.unaligned.model.empty()) pipeline.unaligned.unseen = pipeline.unaligned.graph;
}

}  // namespace

void align_op_counters(const Dump& dump, Pipeline& pipeline, PerNode<Counters>& counters) {
  std::unordered_map<std::string, NodeId> by_name;
  std::set<std::string> ambiguous;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const std::string name = local_name(pipeline, pipeline.nodes[i]);
    if (!by_name.emplace(name, static_cast<NodeId>(i)).second) ambiguous.insert(name);
  }
  pipeline.unaligned.model.clear();
  for (const OpCounters& op : dump.ops) {
    const auto found = by_name.find(op.name);
    if (found == by_name.end()) {
      pipeline.unaligned.model.push_back(op.name);
      continue;
    }
    if (ambiguous.erase(op.name) > 0)
      pipeline.warnings.push_back(fmt::format(
          "two functions have a data set named '{}'; its counters are charged to the first",
          op.name));
    Node& node = pipeline[found->second];
    counters[found->second] = counters_of(op, node);
    node.aligned = true;
    node.traced_cardinality = op.cardinality;
    if (op.parallelism >= 1) node.traced_parallelism = op.parallelism;
  }
}

void align_counters(const Trace& trace, Pipeline& pipeline) {
  for (const Dump& dump : trace.dumps) {
    PipelineDump out;
    out.time_s = dump.time_s;
    out.process_cpu_s = dump.process_cpu_s;
    out.first_s = dump.first_s;
    out.first_cpu_s = dump.first_cpu_s;
    out.counters = PerNode<Counters>(pipeline.size());
    if (trace.dialect == Dialect::kModel) {
      align_model(dump, pipeline, out);
    } else {
      align_op_counters(dump, pipeline, out.counters);
      NodeId root = pipeline.root;
      while (pipeline[root].kind == Kind::kWrapper && !pipeline[root].inputs.empty())
        root = pipeline[root].inputs.front();
      out.root_elements = out.counters[root].elements;
    }
    pipeline.dumps.push_back(std::move(out));
  }
  if (!trace.dumps.empty()) list_unaligned_nodes(pipeline);
}

}  // namespace plumber
