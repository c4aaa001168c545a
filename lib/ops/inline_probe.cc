// SPDX-License-Identifier: Apache-2.0
#include "ops/inline_probe.h"

#include <algorithm>

namespace plumber {
namespace {

constexpr double kLeast = 0.25, kMost = 1.5;  // beyond that the probe ran another program

/// As the probe ran it.
Setting probe_setting(const Pipeline& pipeline) {
  Setting setting = traced_setting(pipeline);
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const Node& node = pipeline.nodes[i];
    const bool map = node.op == "MapDataset" || node.op == "ParallelMapDatasetV2";
    if (!map || !node.function) continue;
    const FunctionFacts& facts = node.function->facts;
    if (facts.control_flow.empty() && facts.python.empty()) {
      setting[static_cast<NodeId>(i)] = {Mode::kInline};
    }
  }
  return setting;
}

}  // namespace

void correct_by_probe(const Pipeline& pipeline, double probe_cpu_s, double cores, Costs& costs) {
  if (!costs.hand_off_known || probe_cpu_s <= 0) return;
  double work_s = 0;
  for (const NodeCost& cost : costs.nodes) work_s += cost.cpu_s;
  if (!(work_s > 0)) return;
  const double all_s =
      evaluate(pipeline, costs, probe_setting(pipeline), {cores, std::nullopt}).cpu_s;
  const double hand_offs_s = std::max(0.0, all_s - work_s);
  const double measured_s = probe_cpu_s - hand_offs_s - costs.think_time_s;
  const double factor = std::clamp(measured_s / work_s, kLeast, kMost);
  for (NodeCost& cost : costs.nodes) {
    cost.work_s *= factor;
    cost.cpu_s *= factor;
    cost.work_clamped = false;
  }
}

}  // namespace plumber
