// SPDX-License-Identifier: Apache-2.0
#include "optimize/calls.h"

#include <algorithm>
#include <cmath>

#include "ops/disk_load.h"
#include "ops/hand_off.h"
#include "ops/pauses.h"

namespace plumber {
namespace {

constexpr double kHedge = 1.2;
constexpr double kWaits = 0.5;    // of its time: a reader that waits so much is bound by that
constexpr int kMostWaiting = 64;  // readers at once
constexpr double kSpareShortCalls = 4;
constexpr double kSpare_bytes =
    4 << 20;                       // more than a core's cache holds costs what spare calls save
constexpr double kOrderSlack = 1;  // finished, but not first in order
constexpr double kSamePeriod = 1 + 1e-9;
constexpr double kAlmostSame = 1.005;
constexpr std::size_t kMostJudged = 200;  // nodes: with more of them judging takes too long
constexpr double kRounding = 1e-9;

double cores_of(const Problem& problem) {
  return std::max(1.0, std::floor(problem.machine.cores + kRounding));
}

/// CPU of a root element for the node and all that stands above it.
PerNode<double> cpu_from_here_up(const Problem& problem) {
  PerNode<double> cpu_s(problem.pipeline->size(), 0);
  for (std::size_t i = problem.pipeline->size(); i-- > 0;) {
    const auto id = static_cast<NodeId>(i);
    double above_s = 0;
    for (const NodeId consumer : problem.consumers[id]) {
      above_s = std::max(above_s, cpu_s[consumer]);
    }
    cpu_s[id] = problem.cost(id).cpu_s + above_s;
  }
  return cpu_s;
}

double work_of_a_call_s(const NodeCost& cost) {
  return cost.calls > 0 ? cost.work_s / cost.calls : cost.work_s;
}

/// Seconds that one call at a time needs for a root element.
double service_s(const Problem& problem, NodeId id, bool inline_body) {
  const CallsInFlight calls{2, problem.machine.cores, inline_body};
  return parallel_cost(problem.costs.hand_off, problem.node(id), problem.cost(id), calls).serial_s;
}

/// Calls for a node that needs `calls` of them on average.
int with_spare(const Problem& problem, NodeId id, const Pause& pause, double calls) {
  const NodeCost& cost = problem.cost(id);
  const double work_s = work_of_a_call_s(cost);
  if (calls > 1) calls += kOrderSlack;
  double for_pauses = calls;
  if (work_s > 0 && pause.per_root > 0) {
    const double made = pause.length_s * (cores_of(problem) - 1) / work_s;
    for_pauses += std::min(made, pause.elements);
  }
  double for_short = calls;
  if (cost.calls > 0 && work_s < kShortCall_s) {
    const double bytes = std::max(1.0, problem.analysis->nodes[id].bytes_per_element);
    for_short = std::max(std::min(kSpareShortCalls * calls, kSpare_bytes / bytes),
                         kSpareCalls * cores_of(problem));
  }
  const double wanted = std::ceil(std::max({2.0, calls, for_pauses, for_short}) - kRounding);
  return static_cast<int>(std::min(wanted, 1e6));
}

/// Raises the calls of a node as long as the whole pipeline is slower for it than with those that
/// the setting has.
int enough_for_all(const Problem& problem, Setting setting, NodeId id, int wanted) {
  if (setting.size() > kMostJudged) return wanted;
  const auto most = static_cast<int>(setting[id].parallelism);
  const double enough_s = evaluate(problem, setting).period_s * kAlmostSame;
  for (; wanted < most; ++wanted) {
    setting[id].parallelism = wanted;
    if (evaluate(problem, setting).period_s <= enough_s) break;
  }
  return wanted;
}

/// Readers that wait so long that so many of them keep the cores busy.
int readers_for_waits(const Problem& problem, NodeId id) {
  if (!waiting_readers(*problem.pipeline, problem.costs, id).waiting) return 1;
  double reading_s = 0, cpu_s = 0;
  for (const NodeId at : all_below(*problem.pipeline, problem.node(id).inner))
    reading_s += problem.cost(at).work_s;
  for (const NodeCost& cost : problem.costs.nodes) cpu_s += cost.cpu_s;
  if (!(cpu_s > 0)) return kMostWaiting;
  const double wanted = std::ceil(kHedge * reading_s * cores_of(problem) / cpu_s);
  return static_cast<int>(std::min<double>(wanted, kMostWaiting));
}

/// Readers that the disks want of each interleave: a reader that waits for a disk needs no core.
PerNode<int> readers_for_disks(const Problem& problem) {
  PerNode<int> readers(problem.pipeline->size(), 1);
  const std::vector<Disk>& disks = problem.machine.disks;
  for (const DiskSource& source : disk_sources(*problem.pipeline, problem.costs, disks)) {
    const int wanted = full_rate_readers(disks[source.disk].curve);
    for (auto outer = problem.node(source.node).outer; outer; outer = problem.node(*outer).outer)
      readers[*outer] = std::max(readers[*outer], wanted);
  }
  return readers;
}

int open_files(const Node& node, int calls) {
  const auto& cycle = node.cycle_length;
  return cycle && *cycle > 0 ? static_cast<int>(std::min<std::int64_t>(calls, *cycle)) : calls;
}

}  // namespace

WaitingReaders waiting_readers(const Pipeline& pipeline, const Costs& costs, NodeId interleave) {
  double work_s = 0, cpu_s = 0;
  for (const NodeId at : all_below(pipeline, pipeline[interleave].inner)) {
    work_s += costs.nodes[at].work_s;
    cpu_s += costs.nodes[at].cpu_s;
  }
  if (!(work_s > 0)) return {};
  const double share = std::max(0.0, 1 - cpu_s / work_s);
  return {share >= kWaits, share};
}

PerNode<int> most_calls(const Problem& problem) {
  const double cores = cores_of(problem);
  const PerNode<double> cpu_s = cpu_from_here_up(problem);
  const PerNode<Pause> pauses = pauses_above(*problem.pipeline, problem.costs, problem.stock);
  const PerNode<int> readers = readers_for_disks(problem);
  PerNode<int> most(problem.pipeline->size(), 1);
  for (std::size_t i = 0; i < most.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!problem.node(id).inner.empty()) {
      most[id] = open_files(problem.node(id), std::max({static_cast<int>(cores), readers[id],
                                                        readers_for_waits(problem, id)}));
    } else if (cores >= 2) {
      const double needed =
          cpu_s[id] > 0 ? kHedge * service_s(problem, id, false) * cores / cpu_s[id] : cores;
      most[id] = with_spare(problem, id, pauses[id], std::min(needed, kHedge * cores));
    }
  }
  return most;
}

int calls_wanted(const Problem& problem, const Setting& setting, NodeId id, double period_s) {
  const NodeSetting& node = setting[id];
  if (problem.node(id).inner.empty()) {
    const PerNode<Pause> pauses = pauses_above(*problem.pipeline, problem.costs, setting);
    const double service = service_s(problem, id, node.mode == Mode::kParallelInline);
    const int wanted = with_spare(problem, id, pauses[id], kHedge * service / period_s);
    return enough_for_all(problem, setting, id, wanted);
  }
  // What an interleave needs depends on what it reads.
  const int most = static_cast<int>(node.parallelism);
  Setting fewer = setting;
  for (int calls = 2; calls < most; ++calls) {
    fewer[id].parallelism = calls;
    if (evaluate(problem, fewer).period_s > period_s * kSamePeriod) continue;
    return static_cast<int>(std::ceil(kHedge * calls - kRounding));
  }
  return most;
}

}  // namespace plumber
