// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "ops/inspection.h"

namespace plumber {
namespace {

using fmt::format;

constexpr double kLeastGain = 0.02;

// Maps right below the node, one after the other, from the top.
std::vector<NodeId> maps_below(const Pipeline& p, NodeId n) {
  std::vector<NodeId> maps;
  while (p[n].inputs.size() == 1) {
    n = p[n].inputs.front();
    if (p[n].kind == Kind::kMap && p[n].function && p[n].function->facts.random.empty() &&
        p[n].function->facts.stateful.empty())
      maps.push_back(n);
    else if (p[n].kind != Kind::kPass && p[n].kind != Kind::kPrefetch)
      break;
  }
  return maps;
}

// A shard or skip throws away what costly maps below it have made.
void find_late_choice(const Inspection& look, NodeId n, std::vector<Finding>& found) {
  const Pipeline& p = look.pipeline;
  if ((p[n].kind != Kind::kShard && p[n].kind != Kind::kSkip) || p[n].inputs.empty()) return;
  const auto maps = maps_below(p, n);
  const double in = look.analysis.costs.nodes[p[n].inputs.front()].elements;
  const double kept = in > 0 ? look.analysis.costs.nodes[n].elements / in : 1;
  double wasted_s = 0;
  for (const NodeId map : maps) wasted_s += (1 - kept) * look.analysis.costs.nodes[map].work_s;
  if (!(wasted_s > kLeastGain * look.now.period_s)) return;
  Costs costs = look.analysis.costs;
  for (const NodeId map : maps) {
    NodeCost& cost = costs.nodes[map];
    cost.work_s *= kept, cost.cpu_s *= kept, cost.calls *= kept, cost.elements *= kept;
  }
  const double period_s = evaluate(p, costs, look.analysis.setting, look.machine).period_s;
  std::optional<double> gain;
  if (period_s > 0 && period_s * (1 + kLeastGain) <= look.now.period_s)
    gain = 1 / period_s - 1 / look.now.period_s;
  const char* call = p[n].kind == Kind::kShard ? ".shard(...)" : ".skip(...)";
  found.push_back(
      {"late-choice",
       gain ? Severity::kWarning : Severity::kHint,
       {p[n].name, p[maps.front()].name},
       format("{} throws away elements that {} has worked on", said(p[n]), said(p[maps.front()])),
       format("{} of {} elements are kept: {} of work a root element for nothing",
              format_share(kept), said(p[maps.front()]), format_seconds(wasted_s)),
       gain,
       format("{} before {}", call, written(p[maps.back()]))});
}

// Readers in parallel need several files.
void find_one_file(const Inspection& look, NodeId n, std::vector<Finding>& found) {
  const Pipeline& p = look.pipeline;
  if (p[n].threading != Threading::kParallelInterleave || p[n].inputs.empty()) return;
  const auto& list = look.analysis.nodes[p[n].inputs.front()].elements_per_epoch;
  if (list.kind != Cardinality::Kind::kKnown || list.elements != 1) return;
  found.push_back(
      {"one-file",
       Severity::kHint,
       {p[n].name},
       format("{} reads in parallel, but from one file: one reader does all the work", said(p[n])),
       format("1 file, {} at once allowed", p[n].cycle_length.value_or(1)),
       std::nullopt,
       "write the data into several files, of 100 MB or more each"});
}

// Each call in flight holds an element, and beyond a few a core they keep nothing busier.
void find_many_calls(const Inspection& look, NodeId n, std::vector<Finding>& found) {
  constexpr double kMany = 8;
  const Node& node = look.pipeline[n];
  const NodeSetting& setting = look.analysis.setting[n];
  if (!is_parallel(setting.mode) || node.threading != Threading::kParallelCalls) return;
  const NodeCost& cost = look.analysis.costs.nodes[n];
  const double call_s = cost.calls > 0 ? cost.work_s / cost.calls : 0;
  const bool waits = cost.cpu_s < 0.9 * cost.work_s;  // waiting calls may well be many
  if (waits || call_s < kShortCall_s || setting.parallelism < kMany * look.machine.cores) return;
  found.push_back(
      {"many-calls",
       Severity::kHint,
       {node.name},
       format("{} has far more calls at once than there are cores to work on them", said(node)),
       format("{} on {}, {} held", counted(setting.parallelism, "call"),
              counted(look.machine.cores, "core"), format_bytes(look.held_bytes[n])),
       std::nullopt,
       format("num_parallel_calls={:.0f}", 2 * look.machine.cores)});
}

// Groups of an endless input never see the end of an epoch.
void find_group_over_repeat(const Inspection& look, NodeId n, std::vector<Finding>& found) {
  const Pipeline& p = look.pipeline;
  if (p[n].kind != Kind::kGroup) return;
  for (NodeId at = n; p[at].inputs.size() == 1;) {
    at = p[at].inputs.front();
    if (p[at].kind != Kind::kRepeat && p[at].kind != Kind::kShuffleRepeat) continue;
    if (p[at].count.value_or(0) != -1) return;
    found.push_back({"group-over-repeat",
                     Severity::kHint,
                     {p[n].name, p[at].name},
                     format("{} groups an endless input: groups hold elements of several epochs, "
                            "and rare keys wait for long",
                            said(p[n])),
                     format("{} below it", said(p[at])),
                     std::nullopt,
                     ".repeat() after the grouping, if epochs matter"});
    return;
  }
}

}  // namespace

void find_odd_order(const Inspection& look, std::vector<Finding>& found) {
  for (std::size_t i = 0; i < look.pipeline.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    find_late_choice(look, n, found);
    find_one_file(look, n, found);
    find_many_calls(look, n, found);
    find_group_over_repeat(look, n, found);
  }
}

}  // namespace plumber
