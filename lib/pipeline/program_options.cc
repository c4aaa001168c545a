// SPDX-License-Identifier: Apache-2.0
#include "pipeline/program_options.h"

#include "graph.pb.h"
#include "options.pb.h"

namespace plumber {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

namespace {

std::optional<tensorflow::data::Options> options_of(const NodeDef& node) {
  tensorflow::data::Options options;
  const auto attribute = node.attr().find("serialized_options");
  if (node.op() != "OptionsDataset" || attribute == node.attr().end()) return std::nullopt;
  if (!options.ParseFromString(attribute->second.s())) return std::nullopt;
  return options;
}

}  // namespace

void apply_determinism(const GraphDef& graph, Pipeline& pipeline) {
  bool deterministic = true;
  for (const NodeDef& node : graph.node())
    if (const auto options = options_of(node); options && options->has_deterministic())
      deterministic = options->deterministic();
  if (deterministic) return;
  for (Node& node : pipeline.nodes)
    if (node.determinism_by_options) node.deterministic = false;
}

ProgramOptions program_options(const GraphDef& graph, bool has_tracers_options) {
  ProgramOptions result;
  if (has_tracers_options) return result;
  bool defaults = true;
  std::optional<bool> parallelises_maps, injects_prefetch;
  for (const NodeDef& node : graph.node()) {
    const auto options = options_of(node);
    if (!options) continue;
    const auto& rewrites = options->optimization_options();
    if (options->autotune_options().has_enabled())
      result.autotune = options->autotune_options().enabled();
    if (rewrites.has_apply_default_optimizations())
      defaults = rewrites.apply_default_optimizations();
    if (rewrites.has_map_parallelization()) parallelises_maps = rewrites.map_parallelization();
    if (rewrites.has_inject_prefetch()) injects_prefetch = rewrites.inject_prefetch();
  }
  result.parallelises_maps = result.autotune && parallelises_maps.value_or(defaults);
  result.injects_prefetch = result.autotune && injects_prefetch.value_or(defaults);
  return result;
}

std::vector<std::string> recorder_options(const Trace& trace) {
  if (trace.recorder || trace.dialect != Dialect::kModel) return {};
  for (const NodeDef& node : trace.graph->node()) {
    const auto options = options_of(node);
    if (!options) continue;
    const auto& optimization = options->optimization_options();
    const bool ours = optimization.has_apply_default_optimizations() &&
                      !optimization.apply_default_optimizations() &&
                      options->threading_options().max_intra_op_parallelism() == 1 &&
                      options->autotune_options().enabled();
    if (ours)
      return {"experimental_optimization.apply_default_optimizations",
              "threading.max_intra_op_parallelism", "autotune.enabled"};
  }
  return {};
}

}  // namespace plumber
