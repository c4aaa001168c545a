// SPDX-License-Identifier: Apache-2.0
#include "ops/inline_probe.h"

#include <algorithm>

#include "ops/bookkeeping.h"

namespace plumber {
namespace {

constexpr double kTellsMore = 0.1;            // of the work
constexpr double kLeast = 0.25, kMost = 1.5;  // beyond that the probe ran another program
constexpr double kUnsureHandOffs = 0.2;       // from run to run

/// What a measurement holds: a program that ran without AUTOTUNE spent nothing on counting for it.
Costs as_run(const Costs& costs, const MeasuredCpu& ran) {
  return ran.autotune ? costs : without_bookkeeping(costs);
}

/// True if the probe ran enough of the work in another way than the trace to tell anything new.
bool tells_more(const Setting& traced, const Setting& probed, const Costs& costs) {
  double work_s = 0, moved_s = 0;
  for (std::size_t i = 0; i < traced.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    work_s += costs.nodes[id].cpu_s;
    if (traced[id] != probed[id]) moved_s += costs.nodes[id].cpu_s;
  }
  return moved_s > kTellsMore * work_s;
}

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

void correct_by_probe(const Pipeline& pipeline, const MeasuredCpu& probe, Costs& costs) {
  if (!costs.hand_off_known || probe.cpu_s <= 0) return;
  const Setting setting = probe_setting(pipeline);
  if (!tells_more(traced_setting(pipeline), setting, costs)) return;
  double work_s = 0;
  const Costs ran = as_run(costs, probe);
  for (const NodeCost& cost : ran.nodes) work_s += cost.cpu_s;
  if (!(work_s > 0)) return;
  const double all_s = evaluate(pipeline, ran, setting, {probe.cores}).cpu_s;
  const double hand_offs_s = std::max(0.0, all_s - work_s);
  // What is left of a measurement that is mostly hand-offs is as uncertain as they are: the work is
  // changed no more than it takes to agree with it.
  const double left_s = probe.cpu_s - hand_offs_s - costs.think_time_s;
  const double unsure_s = kUnsureHandOffs * hand_offs_s;
  const double measured_s = std::clamp(work_s, left_s - unsure_s, left_s + unsure_s);
  const double factor = std::clamp(measured_s / work_s, kLeast, kMost);
  for (NodeCost& cost : costs.nodes) {
    cost.work_s = std::max(cost.work_s * factor, std::min(cost.work_s, cost.least_s));
    cost.cpu_s = std::max(cost.cpu_s * factor, std::min(cost.cpu_s, cost.least_s));
    cost.bookkeeping_s *= factor;
    cost.work_clamped = false;
  }
}

bool add_inline_work(const Pipeline& pipeline, const MeasuredCpu& ran, Costs& costs) {
  if (!costs.hand_off_known) return false;
  const Setting setting = traced_setting(pipeline);
  PerNode<double> ops(pipeline.size(), 0);
  double all_ops = 0;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Mode mode = setting[id].mode;
    if ((mode != Mode::kInline && mode != Mode::kParallelInline) || !pipeline[id].function)
      continue;
    ops[id] = costs.nodes[id].calls * std::max(1, pipeline[id].function->facts.ops);
    all_ops += ops[id];
  }
  if (!(all_ops > 0)) return false;
  const double known_s = evaluate(pipeline, as_run(costs, ran), setting, {ran.cores}).cpu_s;
  const double missing_s = std::max(0.0, ran.cpu_s - known_s - costs.think_time_s);
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    costs.nodes[id].work_s += missing_s * ops[id] / all_ops;
    costs.nodes[id].cpu_s += missing_s * ops[id] / all_ops;
  }
  return true;
}

}  // namespace plumber
