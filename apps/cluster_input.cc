// SPDX-License-Identifier: Apache-2.0
#include "cluster_input.h"

#include "base/error.h"
#include "optimize/optimize.h"
#include "pipeline/pipeline.h"
#include "trace_input.h"

namespace plumber {
namespace {

// The batch nearest to the root, down the first inputs.
std::optional<double> batch_size(const Pipeline& pipeline) {
  for (NodeId id = pipeline.root;;) {
    const Node& node = pipeline[id];
    if (node.op.find("Batch") != std::string::npos && node.count && *node.count > 0) {
      return static_cast<double>(*node.count);
    }
    if (node.inputs.empty()) return std::nullopt;
    id = node.inputs[0];
  }
}

}  // namespace

std::vector<InputRate> input_rates(const std::string& trace_path,
                                   std::optional<double> samples_per_element,
                                   const std::vector<MachineType>& machines) {
  TraceInput input;
  input.paths = {trace_path};
  const Pipeline pipeline = build_pipeline(load(input));
  const Analysis analysis = analyze(pipeline, {});
  const auto samples = samples_per_element ? samples_per_element : batch_size(pipeline);
  if (!samples) {
    throw Error(ErrorKind::kInput, trace_path, "the pipeline has no batch of known size",
                "give --samples-per-element N");
  }
  std::vector<InputRate> rates;
  for (const MachineType& machine : machines) {
    OptimizeOptions how;
    how.limits.cores = machine.vcpus > 0 ? machine.vcpus : pipeline.machine.cores;
    how.limits.memory_bytes = machine.memory_bytes.value_or(pipeline.machine.memory_total_bytes);
    const OptimizeResult result = optimize(pipeline, analysis, how);
    rates.push_back({machine.name, result.predicted.after_per_s * *samples});
  }
  return rates;
}

}  // namespace plumber
