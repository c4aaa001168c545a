// SPDX-License-Identifier: Apache-2.0
#include "cluster_input.h"

#include "base/error.h"
#include "optimize/optimize.h"
#include "pipeline/pipeline.h"
#include "trace_input.h"

namespace plumber {
namespace {

// Samples in an element of the root: the product of the batches down the first inputs, as far as
// elements are not taken apart again.
std::optional<double> batch_size(const Pipeline& pipeline) {
  std::optional<double> samples;
  for (NodeId id = pipeline.root;;) {
    const Node& node = pipeline[id];
    if (node.op.find("Batch") != std::string::npos && node.count && *node.count > 0) {
      samples = samples.value_or(1) * static_cast<double>(*node.count);
    }
    const bool taken_apart = node.op.find("FlatMap") != std::string::npos ||
                             node.op.find("Unbatch") != std::string::npos ||
                             node.op.find("Rebatch") != std::string::npos;
    if (node.inputs.empty() || taken_apart) return samples;
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
  AnalysisOptions alone;
  alone.think_time_s = 0;  // what the pipeline can deliver, not what its consumer took
  const Analysis analysis = analyze(pipeline, alone);
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
    rates.push_back(
        {machine.name, result.predicted.after_per_s * *samples, result.predicted.upper_bound});
  }
  return rates;
}

}  // namespace plumber
