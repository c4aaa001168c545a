// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "ops/rules.h"
#include "pipeline/python_call.h"

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

// A parallel op that hands its elements on in the order of its input.
bool keeps_order(const Node& node, const NodeSetting& setting) {
  const bool waits = node.threading == Threading::kParallelInterleave ||
                     (node.threading == Threading::kParallelCalls && node.kind == Kind::kMap);
  return waits && node.deterministic && setting.parallelism > 1;
}

// A rate that is long enough to tell, while cores stood still: neither did the process use them,
// nor did its threads wait for others to leave them.
bool leaves_cores_idle(const Inspection& look) {
  constexpr double kShort_s = 0.5, kFew = 10, kBusy = 0.8;
  const Analysis& a = look.analysis;
  if (a.elapsed_s < kShort_s || a.root_elements < kFew) return false;
  const PipelineDump& dump = look.pipeline.dumps.back();
  const auto& recorder = look.pipeline.recorder;
  const double waited_s = recorder ? recorder->run_queue_wait_s : 0;
  return dump.process_cpu_s + waited_s < kBusy * look.machine.cores * dump.time_s;
}

}  // namespace

// A shard or skip throws away what costly maps below it have made.
void find_late_choice(const Inspection& look, NodeId n, std::vector<Remark>& found) {
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
  found.push_back(
      {{p[n].name, p[maps.front()].name},
       format("{} throws away elements that {} has worked on", said(p[n]), said(p[maps.front()])),
       format("{} of {} elements are kept: {} of work a root element for nothing",
              format_share(kept), said(p[maps.front()]), format_seconds(wasted_s)),
       gain_per_s(look, costs),
       python_at(python_call(p[n]), "before " + python_call(p[maps.back()]))});
}

// Groups of an endless input never see the end of an epoch.
void find_group_over_repeat(const Inspection& look, NodeId n, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  if (p[n].kind != Kind::kGroup) return;
  for (NodeId at = n; p[at].inputs.size() == 1;) {
    at = p[at].inputs.front();
    if (p[at].kind != Kind::kRepeat && p[at].kind != Kind::kShuffleRepeat) continue;
    if (p[at].count.value_or(0) != -1) return;
    found.push_back({{p[n].name, p[at].name},
                     format("{} groups an endless input: groups hold elements of several epochs, "
                            "and rare keys wait for long",
                            said(p[n])),
                     format("{} below it", said(p[at])),
                     std::nullopt,
                     python_at(".repeat()", "after " + python_call(p[n]) + ", if epochs matter")});
    return;
  }
}

// Cores that stand still though neither thread, calls nor disk explain it: elements that are done
// wait for a slower one before them. The gap to the lowest bound is what the order may cost.
void find_kept_order(const Inspection& look, std::vector<Remark>& found) {
  constexpr double kUnexplained = 1.15;  // twice the median error of the bounds: theirs, not a gain
  const double traced_per_s = look.analysis.rate.observed_per_s.value_or(0);
  if (look.now.bounds.empty() || !(traced_per_s > 0) || !leaves_cores_idle(look)) return;
  if (look.analysis.verdict == Verdict::kConsumerBound) return;
  const Bound& bound = look.now.bounds.front();
  if (bound.kind != BoundKind::kParallel && bound.kind != BoundKind::kCpu) return;
  if (bound.bound_per_s < kUnexplained * traced_per_s) return;
  const auto node = std::ranges::find_if(bound.nodes, [&](NodeId n) {
    return keeps_order(look.pipeline[n], look.analysis.setting[n]);
  });
  if (node == bound.nodes.end()) return;
  const Node& keeper = look.pipeline[*node];
  found.push_back(
      {{keeper.name},
       format("{} keeps the order of its input: elements that are done wait for a slower one. "
              "Without the order it may reach what its calls can do",
              said(keeper)),
       format("traced at {}, {} less than its work explains", format_rate(traced_per_s),
              format_share(1 - traced_per_s / bound.bound_per_s)),
       bound.bound_per_s / kUnexplained - traced_per_s,
       "options.deterministic = False  # elements then come in another order in each run"});
}

}  // namespace plumber
