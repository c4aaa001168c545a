// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_format.h"
#include "ops/rules.h"
#include "ops/waiting_calls.h"
#include "pipeline/python_call.h"

namespace plumber {
namespace {

using fmt::format;

constexpr double kMostlyHandOff = 0.5;

// Calls beside each other give the same elements.
bool free_of_order(const Function& function) {
  const FunctionFacts& f = function.facts;
  return f.stateful.empty() && f.python.empty() && f.seeded.empty() && f.missing.empty() &&
         !f.recursive;
}

// By the rules of the optimiser: what it would refuse is not advised.
bool may_run_in_parallel(const Node& node, const NodeCost& cost) {
  if (node.op != "MapDataset" && node.op != "FilterDataset" && node.op != "InterleaveDataset" &&
      node.op != "BatchDatasetV2")
    return false;
  if (copies_little(node, cost)) return false;
  if (!node.function) return true;
  return free_of_order(*node.function) && !node.function->facts.short_circuit;
}

bool is_handed_over(const Inspection& look, NodeId n) {
  return look.analysis.costs.nodes[n].calls > 0 && look.analysis.setting[n].mode != Mode::kInline;
}

// The bound of the cores, where it is the lowest or as good as that; else null.
const Bound* binding_cores(const Inspection& look) {
  constexpr double kAsGood = 1.02;
  const auto& bounds = look.now.bounds;
  const auto cores = std::ranges::find(bounds, BoundKind::kCpu, &Bound::kind);
  if (cores == bounds.end() || cores->nodes.empty()) return nullptr;
  return cores->bound_per_s <= kAsGood * bounds.front().bound_per_s ? &*cores : nullptr;
}

// All cores are busy, mostly with handing over calls.
bool cores_hand_over(const Inspection& look) {
  const Bound* cores = binding_cores(look);
  if (!cores) return false;
  double work_s = 0;
  bool any = false;
  for (const NodeId n : cores->nodes) {
    work_s += look.analysis.costs.nodes[n].cpu_s;
    any = any || is_handed_over(look, n);
  }
  return any && work_s < (1 - kMostlyHandOff) * look.now.cpu_s;
}

// What the functions would bring in TensorFlow ops that took as long.
std::optional<double> gain_without_lock(const Inspection& look) {
  Costs costs = look.analysis.costs;
  Setting changed = look.analysis.setting;
  for (std::size_t i = 0; i < look.pipeline.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    if (!costs.nodes[n].python) continue;
    costs.nodes[n].python = false;
    if (look.pipeline[n].kind != Kind::kMap) continue;
    changed[n].mode = Mode::kParallel;
    changed[n].parallelism = std::max(changed[n].parallelism, std::floor(look.machine.cores));
  }
  return gain_between(look, evaluate(look.pipeline, costs, changed, look.machine));
}

// Control flow is refused by TensorFlow's inline executor; kernels that shard lose more than they
// gain.
bool can_be_inline(const Node& node) {
  return node.kind == Kind::kMap && node.function && node.function->facts.control_flow.empty() &&
         node.function->facts.sharding.empty();
}

bool wants_own_threads(const Inspection& look, NodeId n) {
  const NodeCost& cost = look.analysis.costs.nodes[n];
  const NodeSetting& now = look.analysis.setting[n];
  if (!look.pipeline[n].function || now.mode == Mode::kParallelUnbounded) return false;
  const bool beside = now.mode == Mode::kParallel && now.parallelism >= 2;
  return (beside || free_of_order(*look.pipeline[n].function)) &&
         knows_own_threads(look.pipeline) &&
         waits_often(look.pipeline[n], cost, look.analysis.costs.hand_off);
}

}  // namespace

// A map whose calls wait, for which the threads of the pool are too few.
void find_waiting_calls(const Inspection& look, NodeId n, std::vector<Remark>& found) {
  constexpr double kCalls = 32;
  if (!wants_own_threads(look, n)) return;
  Setting changed = look.analysis.setting;
  changed[n] = {Mode::kParallelUnbounded, kCalls};
  const auto gain = gain_per_s(look, changed);
  if (!gain) return;
  const NodeCost& cost = look.analysis.costs.nodes[n];
  found.push_back(
      {{look.pipeline[n].name},
       format("calls of {} wait, and hold threads of TensorFlow's pool meanwhile, which "
              "has one for each core: on threads of their own more of them wait at once",
              said(look.pipeline[n])),
       format("{} a call, of which {} on a core", format_seconds(cost.work_s / cost.calls),
              format_seconds(cost.cpu_s / cost.calls)),
       gain,
       python_call_on_own_threads(look.pipeline[n], format("{:.0f}", kCalls))});
}

// The sequential op with the largest share of the binding thread.
void find_sequential(const Inspection& look, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  if (look.now.bounds.empty() || look.now.bounds.front().kind != BoundKind::kThread) return;
  const double calls = std::max(1.0, std::floor(look.machine.cores));
  for (const NodeId n : look.now.bounds.front().nodes) {
    const Mode mode = look.analysis.setting[n].mode;
    if (p[n].outer || mode == Mode::kParallel || calls < 2 ||
        !may_run_in_parallel(p[n], look.analysis.costs.nodes[n]) || wants_own_threads(look, n))
      continue;
    Setting changed = look.analysis.setting;
    changed[n].mode = Mode::kParallel;
    changed[n].parallelism = calls;
    const auto gain = gain_per_s(look, changed);
    if (!gain) continue;
    const double work_s = look.analysis.costs.nodes[n].work_s;
    found.push_back(
        {{p[n].name},
         format("{} runs one call at a time on the thread that limits the rate", said(p[n])),
         format("{} of work a root element, {} of its period", format_seconds(work_s),
                share_of_period(look, work_s)),
         gain,
         python_call_in_parallel(p[n], format("{:.0f}", calls))});
    return;
  }
}

// A parallel op that binds with fewer calls than there are cores.
void find_few_calls(const Inspection& look, std::vector<Remark>& found) {
  if (look.now.bounds.empty()) return;
  const Pipeline& p = look.pipeline;
  const Bound& bound = look.now.bounds.front();
  if (bound.kind != BoundKind::kParallel || bound.nodes.empty()) return;
  const NodeId n = bound.nodes.front();
  const double calls = std::max(1.0, std::floor(look.machine.cores));
  Setting changed = look.analysis.setting;
  if (changed[n].parallelism >= calls || look.analysis.costs.nodes[n].python) return;
  const std::string now = counted(changed[n].parallelism, "call");
  changed[n].parallelism = calls;
  const auto gain = gain_per_s(look, changed);
  if (!gain) return;
  const double work_s = look.analysis.costs.nodes[n].work_s;
  found.push_back({{p[n].name},
                   format("{} has {} in flight on {}", said(p[n]), now, counted(calls, "core")),
                   format("{} of work a root element in {}: {} at best", format_seconds(work_s),
                          now, format_rate(bound.bound_per_s)),
                   gain,
                   python_call_in_parallel(p[n], format("{:.0f}", calls))});
}

void find_busy_cores(const Inspection& look, std::vector<Remark>& found) {
  if (look.now.bounds.empty()) return;
  const Bound* binding = binding_cores(look);
  if (!binding || cores_hand_over(look)) return;  // the latter is per-element-overhead
  const Bound& bound = *binding;
  const auto& costs = look.analysis.costs.nodes;
  double work_s = 0;
  for (const NodeId n : bound.nodes) work_s += costs[n].cpu_s;
  const Node& first = look.pipeline[bound.nodes.front()];
  const double first_s = costs[bound.nodes.front()].cpu_s;
  const bool one = look.machine.cores == 1;
  const std::string cores =
      format("the {} {} busy", counted(look.machine.cores, "core"), one ? "is" : "are");
  Remark finding{{first.name}, "", "", std::nullopt, ""};
  if (work_s < kMostlyHandOff * look.now.cpu_s) {
    finding.text = cores +
                   ", mostly with handing elements between threads: fewer parallel calls, or work "
                   "on batches";
    finding.evidence = format("{} of CPU a root element, of which {} are the nodes' own work",
                              format_seconds(look.now.cpu_s), format_seconds(work_s));
  } else {
    finding.text = format("{}: more threads cannot help, only less work in {} or more cores", cores,
                          said(first));
    finding.evidence = format("{} of CPU a root element, {} of all", format_seconds(first_s),
                              format_share(first_s / look.now.cpu_s));
  }
  found.push_back(std::move(finding));
}

void find_python(const Inspection& look, std::vector<Remark>& found) {
  const auto lock = std::ranges::find(look.now.bounds, BoundKind::kPythonLock, &Bound::kind);
  if (lock == look.now.bounds.end() || lock->nodes.empty()) return;
  const double held_s = 1 / lock->bound_per_s;
  if (held_s < 0.2 * look.now.period_s) return;
  std::vector<std::string> nodes;
  for (const NodeId n : lock->nodes) nodes.push_back(look.pipeline[n].name);
  found.push_back({std::move(nodes),
                   "Python functions run one at a time under Python's lock: num_parallel_calls "
                   "cannot help them, nor more cores",
                   format("{} under the lock a root element: at most {}", format_seconds(held_s),
                          format_rate(lock->bound_per_s)),
                   gain_without_lock(look),
                   "# write the function in TensorFlow ops, or prepare its results once in files"});
}

void find_overhead(const Inspection& look, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  if (look.now.bounds.empty() || !(look.now.period_s > 0)) return;
  const bool latency = look.now.dispatch_s >= kMostlyHandOff * look.now.period_s;
  if (!latency && !cores_hand_over(look)) return;
  const std::vector<NodeId> nodes =
      latency ? look.now.bounds.front().nodes : binding_cores(look)->nodes;
  Remark finding{};
  finding.python = ".batch(N).map(f)  # with f for whole batches";
  Setting changed = look.analysis.setting;
  Costs batched = look.analysis.costs;
  double calls = 0;
  for (const NodeId n : nodes) {
    if (!is_handed_over(look, n)) continue;
    finding.nodes.push_back(p[n].name);
    calls += look.analysis.costs.nodes[n].calls;
    if (can_be_inline(p[n])) changed[n].mode = Mode::kInline;
    batched.nodes[n].calls = std::min(batched.nodes[n].calls, 1.0);
  }
  finding.text =
      "calls are so short that handing each one to another thread takes most of the time: work on "
      "batches, or inline the functions";
  finding.evidence =
      latency ? format("{} calls a root element, {} of its period is hand-off", format_count(calls),
                       share_of_period(look, look.now.dispatch_s))
              : format("{} calls a root element, and all cores are busy", format_count(calls));
  finding.gain_per_s = gain_per_s(look, changed);
  if (!finding.gain_per_s) finding.gain_per_s = gain_per_s(look, batched);
  found.push_back(std::move(finding));
}

void find_no_prefetch(const Inspection& look, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  NodeId root = p.root;
  while (p[root].kind == Kind::kWrapper && !p[root].inputs.empty()) root = p[root].inputs.front();
  if (is_boundary(p[root], look.analysis.setting[root])) return;
  Setting changed = look.analysis.setting;
  changed[root].prefetch_above = true;
  const auto gain = gain_per_s(look, changed);
  if (!gain && look.now.period_s > 0) return;
  found.push_back({{p[root].name},
                   format("{} is the last node and works on the consumer's thread: while one "
                          "works, the other waits",
                          said(p[root])),
                   look.now.period_s > 0 ? format("the consumer takes {} of {} a root element",
                                                  format_seconds(look.analysis.costs.think_time_s),
                                                  format_seconds(look.now.period_s))
                                         : "no prefetch at the root",
                   gain,
                   ".prefetch(2)  # at the end"});
}

// Each call in flight holds an element, and beyond a few a core they keep nothing busier.
void find_many_calls(const Inspection& look, NodeId n, std::vector<Remark>& found) {
  constexpr double kMany = 8;
  const Node& node = look.pipeline[n];
  const NodeSetting& setting = look.analysis.setting[n];
  if (!is_parallel(setting.mode) || node.threading != Threading::kParallelCalls) return;
  const NodeCost& cost = look.analysis.costs.nodes[n];
  const double call_s = cost.calls > 0 ? cost.work_s / cost.calls : 0;
  const bool waits = cost.cpu_s < 0.9 * cost.work_s;  // waiting calls may well be many
  if (waits || call_s < kShortCall_s || setting.parallelism < kMany * look.machine.cores) return;
  found.push_back(
      {{node.name},
       format("{} has far more calls at once than there are cores to work on them", said(node)),
       format("{} on {}, {} held", counted(setting.parallelism, "call"),
              counted(look.machine.cores, "core"), format_bytes(look.held_bytes[n])),
       std::nullopt,
       python_call_in_parallel(node, format("{:.0f}", 2 * look.machine.cores))});
}

}  // namespace plumber
