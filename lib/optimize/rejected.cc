// SPDX-License-Identifier: Apache-2.0
#include "optimize/rejected.h"

#include <fmt/format.h>

#include "base/number_format.h"
#include "ops/disk_load.h"
#include "optimize/cache_choices.h"

namespace plumber {
namespace {

/// Where a cache might stand.
struct Place {
  NodeId node{};
  bool on_disk = false;
};

/// What the plan's rate would be with a cache above this node instead of those on its path.
double rate_with_cache(const Problem& problem, Settled settled, const Place& place) {
  Setting& setting = settled.setting;
  const NodeId id = place.node;
  setting[id].cached = true;
  setting[id].on_disk = place.on_disk;
  for (NodeId above = id; !problem.consumers[above].empty();) {
    above = problem.consumers[above].front();
    if (problem.stock[above].cached) continue;
    setting[above].cached = setting[above].on_disk = false;
  }
  const double period_s = evaluate(problem, settled).period_s;
  return period_s > 0 ? 1 / period_s : 0;
}

/// What a file is read for, beside what it would save reading.
std::string file_against_sources(const Problem& problem, NodeId id) {
  double source_bytes = 0;
  for (const NodeId below : all_below(*problem.pipeline, {id}))
    source_bytes += problem.cost(below).disk_bytes;
  const double bytes = problem.cost(id).file_cache_bytes;
  if (!(source_bytes > 0) || bytes <= source_bytes) return "";
  return fmt::format("; it reads {} a root element, the sources {}", format_bytes(bytes),
                     format_bytes(source_bytes));
}

std::string why_no_cache(const Problem& problem, const BestPlan& plan, const Place& place,
                         double period_s) {
  const double rate = 1 / period_s;
  const double with = rate_with_cache(problem, plan.settled, place);
  if (with > rate * (1 + kTolerance)) {
    const auto& epochs = problem.options->epochs;
    if (epochs) return "it does not pay back within " + counted(*epochs, "epoch");
    return fmt::format("{} with it, {} as planned: too little for an order that varies less",
                       format_rate(with), format_rate(rate));
  }
  return fmt::format("{} with it, {} as planned: it brings nothing{}", format_rate(with),
                     format_rate(rate),
                     place.on_disk ? file_against_sources(problem, place.node) : "");
}

std::string why_not_parallel(const Problem& problem, NodeId id, double period_s) {
  if (!(problem.cost(id).work_s > 0)) return "it is not the bottleneck";
  const NodeSetting& stock = problem.stock[id];
  if (is_parallel(stock.mode) && stock.parallelism >= 2)
    return fmt::format("stock TensorFlow does so already, {} at once, and more bring too little",
                       counted(stock.parallelism, "call"));
  if (problem.cost(id).work_s > period_s)
    return fmt::format("it brings too little: {} of work in a period of {}",
                       format_seconds(problem.cost(id).work_s), format_seconds(period_s));
  return fmt::format("it is not the bottleneck: {} of work in a period of {}",
                     format_seconds(problem.cost(id).work_s), format_seconds(period_s));
}

/// An active node that could run parallel, or with more calls in flight, and stays as it is.
const ModeChange* unused_change(const Problem& problem, const BestPlan& plan, NodeId id) {
  if (plan.settled.changes[id] != nullptr) return nullptr;
  for (const ModeChoice& choice : plan.choices.nodes[id].modes) {
    const bool more = choice.setting.parallelism > problem.stock[id].parallelism;
    if (choice.change != nullptr && more) return choice.change;
  }
  return nullptr;
}

/// Disks that would give more to more readers than an interleave's cycle_length allows.
void reject_longer_cycles(const Problem& problem, const BestPlan& plan,
                          std::vector<Rejected>& rejected) {
  const std::vector<Disk>& disks = problem.machine.disks;
  const PerNode<bool> active = active_nodes(*problem.pipeline, plan.settled.setting);
  for (const DiskSource& source : disk_sources(*problem.pipeline, problem.costs, disks)) {
    auto outer = problem.node(source.node).outer;
    while (outer && problem.node(*outer).kind != Kind::kInterleave)
      outer = problem.node(*outer).outer;
    if (!outer || !active[source.node]) continue;
    const std::int64_t cycle = problem.node(*outer).cycle_length.value_or(0);
    const DiskCurve& curve = disks[source.disk].curve;
    const int wanted = full_rate_readers(curve);
    const double now = disk_rate(curve, static_cast<double>(cycle));
    if (cycle < 1 || cycle >= wanted || disk_rate(curve, wanted) < now * (1 + kTolerance)) continue;
    rejected.push_back(
        {edit_word(EditKind::kSetParallelism), problem.node(*outer).name,
         fmt::format("it has cycle_length={}, and a longer one changes the order of the elements; "
                     "if that may be (--allow reorder-files), cycle_length={} gets {}/s from the "
                     "disk instead of {}/s",
                     cycle, wanted, format_bytes(disk_rate(curve, wanted)), format_bytes(now))});
  }
}

}  // namespace

std::vector<Rejected> rejected_edits(const Problem& problem, const BestPlan& plan) {
  std::vector<Rejected> rejected = plan.choices.rejected;
  const PerNode<bool> active = active_nodes(*problem.pipeline, plan.settled.setting);
  const double period_s = evaluate(problem, plan.settled).period_s;
  if (!(period_s > 0)) return rejected;
  reject_longer_cycles(problem, plan, rejected);
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const bool served = plan.settled.setting[id].cached;
    if (plan.choices.nodes[id].cache_bytes && !served) {
      rejected.push_back({edit_word(EditKind::kInsertCache), problem.node(id).name,
                          why_no_cache(problem, plan, {id, false}, period_s)});
    }
    if (plan.choices.nodes[id].disk_cache_bytes && !served) {
      rejected.push_back({edit_word(EditKind::kInsertCache), problem.node(id).name,
                          kOnDisk + why_no_cache(problem, plan, {id, true}, period_s)});
    }
    const ModeChange* change = unused_change(problem, plan, id);
    if (change != nullptr && active[id] && !served) {
      rejected.push_back({edit_word(change->edit), problem.node(id).name,
                          why_not_parallel(problem, id, period_s)});
    }
  }
  return rejected;
}

}  // namespace plumber
