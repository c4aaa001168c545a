// SPDX-License-Identifier: Apache-2.0
#include "optimize/calls.h"

#include <algorithm>
#include <cmath>

#include "ops/disk_load.h"
#include "ops/hand_off.h"
#include "ops/pauses.h"
#include "ops/waiting_calls.h"
#include "optimize/modes.h"

namespace plumber {
namespace {

constexpr double kHedge = 1.2;
constexpr double kWaits = 0.5;    // of its time: a reader that waits so much is bound by that
constexpr int kMostWaiting = 64;  // readers or calls at once
constexpr double kSpareShortCalls = 4;
constexpr double kSpare_bytes =
    4 << 20;                       // more than a core's cache holds costs what spare calls save
constexpr double kOrderSlack = 1;  // finished, but not first in order
constexpr double kSamePeriod = 1.001;
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

/// Calls in flight that keep so many running, though the longest hold the others' results back: by
/// simulation of 3 to 96 cores with calls of log-normal length, sigma 0.5, these are 99 % busy.
double calls_in_order(double running) {
  constexpr double kPerDoubling = 0.25, kMost = 0.9;
  const double busy = running * (1 + std::min(kMost, kPerDoubling * std::log2(running)));
  double calls = busy;
  for (int round = 0; round < 8; ++round) calls = busy * order_loss(calls, kHeldBackAtMost);
  return calls + kOrderSlack;
}

/// Calls for a node of which `running` are needed on average, if the pool takes each at once.
double with_spare(const Problem& problem, NodeId id, const Pause& pause, double running) {
  const NodeCost& cost = problem.cost(id);
  const double work_s = work_of_a_call_s(cost);
  const double hedged = kHedge * running + (kHedge * running > 1 ? kOrderSlack : 0);
  double calls = hedged;
  if (running > 1 && waits_for_order(problem.node(id)))
    calls = std::max(calls, calls_in_order(running));
  if (work_s > 0 && pause.per_root > 0) {
    const double made = pause.length_s * (cores_of(problem) - 1) / work_s;
    calls += std::min(made, pause.elements);
  }
  if (cost.calls > 0 && work_s < kShortCall_s) {
    const double bytes = std::max(1.0, problem.analysis->nodes[id].bytes_per_element);
    const double short_calls = std::min(kSpareShortCalls * hedged, kSpare_bytes / bytes);
    calls = std::max({calls, short_calls, kSpareCalls * cores_of(problem)});
  }
  return std::max(2.0, calls);
}

/// What a node asks of the pool: calls per root element, how many of them in flight, and the root
/// elements that are made while one of them waits for a thread.
struct InPool {
  double per_root = 0;
  double calls = 0;
  double waits = 0;
};

InPool in_pool(const Problem& problem, NodeId id, const Pause& pause, double running) {
  const NodeCost& cost = problem.cost(id);
  const double per_root = cost.calls > 0 ? cost.calls : std::max(cost.elements, 1e-9);
  const double calls = with_spare(problem, id, pause, running);
  // What is in flight and neither runs nor is held back for its order stands in the queue.
  double waits = 0;
  if (running > 1 && waits_for_order(problem.node(id)))
    waits = std::max(0.0, calls - running * order_loss(calls, kHeldBackAtMost)) / per_root;
  return {per_root, calls, waits};
}

/// All calls wait in one queue: whoever has more of them than cores keeps those of the others
/// waiting, which then need as many more.
int with_queue(const InPool& node, double waits) {
  constexpr double kBunched = 2;  // they come in bunches
  const double more = node.waits < waits ? node.per_root * (kBunched * waits - node.waits) : 0;
  return static_cast<int>(std::min(std::ceil(node.calls + more - kRounding), 1e6));
}

bool calls_pool(const Problem& problem, NodeId id, const NodeSetting& setting) {
  const bool pool = is_parallel(setting.mode) && setting.mode != Mode::kParallelUnbounded;
  return pool && problem.node(id).inner.empty() && problem.cost(id).calls > 0;
}

/// The longest wait of any node's calls, in root elements.
double longest_wait(const Problem& problem, const Setting& setting, double period_s) {
  if (setting.size() > kMostJudged) return 0;
  const PerNode<Pause> pauses = pauses_above(*problem.pipeline, problem.costs, setting);
  const PerNode<bool> active = active_nodes(*problem.pipeline, setting);
  double longest = 0;
  for (std::size_t i = 0; i < setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!active[id] || setting[id].cached || !calls_pool(problem, id, setting[id])) continue;
    const bool inline_body = setting[id].mode == Mode::kParallelInline;
    const double running = service_s(problem, id, inline_body) / period_s;
    longest = std::max(longest, in_pool(problem, id, pauses[id], running).waits);
  }
  return longest;
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

bool waits_often(const Problem& problem, NodeId id) {
  return waits_often(problem.node(id), problem.cost(id), problem.costs.hand_off);
}

PerNode<int> most_calls(const Problem& problem) {
  const double cores = cores_of(problem);
  const PerNode<double> cpu_s = cpu_from_here_up(problem);
  const PerNode<Pause> pauses = pauses_above(*problem.pipeline, problem.costs, problem.stock);
  const PerNode<int> readers = readers_for_disks(problem);
  PerNode<int> most(problem.pipeline->size(), 1);
  PerNode<InPool> pool(most.size());
  double waits = 0;
  for (std::size_t i = 0; i < most.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!problem.node(id).inner.empty()) {
      most[id] = open_files(problem.node(id), std::max({static_cast<int>(cores), readers[id],
                                                        readers_for_waits(problem, id)}));
      continue;
    }
    const double running =
        cpu_s[id] > 0 ? service_s(problem, id, false) * cores / cpu_s[id] : cores / kHedge;
    if (waits_often(problem, id)) {
      const double calls = in_pool(problem, id, pauses[id], running).calls;
      most[id] = static_cast<int>(std::min<double>(std::ceil(calls), kMostWaiting));
    } else if (cores >= 2) {
      pool[id] = in_pool(problem, id, pauses[id], std::min(running, cores));
      if (problem.cost(id).calls > 0 && !mode_changes(problem.node(id).op).empty())
        waits = std::max(waits, pool[id].waits);
    }
  }
  for (std::size_t i = 0; i < most.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (pool[id].calls > 0) most[id] = with_queue(pool[id], waits);
  }
  return most;
}

int calls_wanted(const Problem& problem, const Setting& setting, NodeId id, double period_s) {
  const NodeSetting& node = setting[id];
  if (problem.node(id).inner.empty()) {
    const PerNode<Pause> pauses = pauses_above(*problem.pipeline, problem.costs, setting);
    const double service = service_s(problem, id, node.mode == Mode::kParallelInline);
    const InPool pool = in_pool(problem, id, pauses[id], service / period_s);
    const bool queues = node.mode != Mode::kParallelUnbounded;
    const int wanted = with_queue(pool, queues ? longest_wait(problem, setting, period_s) : 0);
    return enough_for_all(problem, setting, id, wanted);
  }
  // What an interleave needs depends on what it reads.
  const int most = static_cast<int>(node.parallelism);
  Setting fewer = setting;
  int calls = std::min(2, most);
  for (; calls < most; ++calls) {
    fewer[id].parallelism = calls;
    if (evaluate(problem, fewer).period_s <= period_s * kSamePeriod) break;
  }
  return calls < 2 ? calls : static_cast<int>(std::ceil(kHedge * calls - kRounding));
}

}  // namespace plumber
