// SPDX-License-Identifier: Apache-2.0
#include "optimize/predicted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_format.h"
#include "ops/hand_off.h"
#include "optimize/sensitivity.h"

namespace plumber {
namespace {

constexpr double kMuch = 0.3;   // of the period: more than this must be known well
constexpr double kNear = 0.10;  // plans without dispatch and parallel calls
constexpr double kWide = 0.25;
constexpr double kQuickerHandedOn = 2.5;  // small elements out of a cache, at the most

double rate_of(double period_s) { return period_s > 0 ? 1 / period_s : 0; }

bool any_planned_cache(const Problem& problem, const Settled& settled) {
  for (std::size_t i = 0; i < settled.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (settled.setting[id].cached && !problem.stock[id].cached) return true;
  }
  return false;
}

bool any_never_ran(const Problem& problem) {
  for (std::size_t i = 0; i < problem.pipeline->size(); ++i)
    if (never_ran(problem, static_cast<NodeId>(i))) return true;
  return false;
}

/// Root elements of the shortest pass after which iterators are made anew; 0: there is none.
double shortest_pass(const Problem& problem) {
  const Pipeline& p = *problem.pipeline;
  double shortest = 0;
  const auto note = [&](NodeId id) {
    const Cardinality& epoch = problem.analysis->nodes[id].elements_per_epoch;
    const double each = problem.cost(id).elements;
    if (epoch.kind != Cardinality::Kind::kKnown || !(epoch.elements > 0) || !(each > 0)) return;
    const double elements = epoch.elements / each;
    if (shortest == 0 || elements < shortest) shortest = elements;
  };
  note(p.root);
  for (const Node& node : p.nodes)
    if (node.kind == Kind::kRepeat && !node.outer && !node.inputs.empty())
      note(node.inputs.front());
  return shortest;
}

/// Passes so short that making their iterators, of which no model knows what it costs after the
/// changes, takes a part that matters; empty: they are not.
std::string why_starts_matter(const Problem& problem, const Evaluation& after) {
  constexpr double kStart_s = 0.5e-3, kShare = 0.2;
  const double elements = shortest_pass(problem);
  const double start_s = problem.analysis->rate.epoch_start_s.value_or(kStart_s);
  if (elements == 0 || start_s < kShare * elements * after.period_s) return "";
  const std::string pass = elements < 1 ? "less than one element" : counted(elements, "element");
  return fmt::format("each pass of {} starts anew, which takes time that is not predicted", pass);
}

/// What a rate must not be printed as a number for; empty: nothing.
std::string why_upper_bound(const Problem& problem, const Settled& settled,
                            const Evaluation& after) {
  const Costs& costs = problem.costs;
  if (costs.hand_off.scale_clamped && after.dispatch_s > 0.2 * after.period_s) {
    return "this machine hands calls over at a speed that the model does not know";
  }
  const double unexplained = problem.analysis->rate.unexplained_share;
  if (unexplained > kMuchUnexplained) {
    return fmt::format("{} of the traced time is in no node: waiting for a lock, a core, a disk",
                       format_share(unexplained));
  }
  const bool consumer = !after.bounds.empty() && after.bounds.front().kind == BoundKind::kConsumer;
  if (consumer && problem.pipeline->consumer.bare && !costs.hand_off.calibrated) {
    return fmt::format("the consumer is the limit then, and its own {} an element are assumed",
                       format_seconds(costs.think_time_s));
  }
  if (after.clamped_work_s > kMuch * after.period_s) {
    return "most of the time goes to functions too small to measure in the trace";
  }
  if (after.dispatch_s > kMuch * after.period_s) {
    return "most of the time goes to handing calls to threads, not to work";
  }
  if (const std::string starts = why_starts_matter(problem, after); !starts.empty()) return starts;
  for (std::size_t i = 0; i < settled.changes.size(); ++i) {
    const Node& node = problem.node(static_cast<NodeId>(i));
    const bool changed = settled.changes[static_cast<NodeId>(i)] != nullptr;
    if (!changed || !node.function || node.function->facts.sharding.empty()) continue;
    return fmt::format("{} in {} takes threads of its own", node.function->facts.sharding.front(),
                       node.name);
  }
  return "";
}

/// True if calls are handed to other threads anywhere in the plan.
bool hands_over_calls(const Problem& problem, const Settled& settled) {
  const PerNode<bool> active = active_nodes(*problem.pipeline, settled.setting);
  for (std::size_t i = 0; i < settled.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Mode mode = settled.setting[id].mode;
    if (active[id] && mode != Mode::kNone && mode != Mode::kInline) return true;
  }
  return false;
}

/// Seconds per root element that a node spends on elements which take it less than the trace can
/// tell, 0 if they are longer.
double tiny_work_s(const Problem& problem, const Costs& costs, const Settled& settled, NodeId id) {
  constexpr double kTiny_s = 0.5e-6;
  const Node& node = problem.node(id);
  double elements = costs.nodes[id].elements;
  if (settled.setting[id].cached && node.kind != Kind::kCache)
    return settled.setting[id].on_disk ? 0 : elements * costs.hand_off.cache_read;
  if (!node.inputs.empty())
    elements = std::max(elements, costs.nodes[node.inputs.front()].elements);
  const double work_s = costs.nodes[id].work_s;
  return work_s < elements * kTiny_s ? work_s : 0;
}

/// True if much of the period goes to handing on small elements out of a new cache. The trace saw
/// new ones, which come from another thread and are freed: that takes longer.
bool hands_on_cached(const Problem& problem, const Settled& settled, const Evaluation& after) {
  const Costs& costs = costs_of(problem, settled);
  if (!costs.hand_off_known || !any_planned_cache(problem, settled)) return false;
  if (after.bounds.empty() || after.bounds.front().kind == BoundKind::kConsumer) return false;
  double tiny_s = 0;
  for (const NodeId id : after.bounds.front().nodes)
    tiny_s += tiny_work_s(problem, costs, settled, id);
  return tiny_s > kMuch * after.period_s;
}

/// Where caches lie on a disk of which nothing is known, and it is the limit.
std::string assumed_disk(const Problem& problem, const Evaluation& after) {
  const auto& disk = problem.machine.disk_cache;
  const bool limits = !after.bounds.empty() && after.bounds.front().kind == BoundKind::kDisk &&
                      std::ranges::any_of(after.bounds.front().nodes, [&](NodeId id) {
                        return problem.cost(id).disk_bytes <= 0;
                      });
  if (!disk || !disk->assumed || !limits) return "";
  return fmt::format("{} is assumed to read {}; --disk {}=RATE says better", disk->folder,
                     format_bytes_rate(disk->read_bytes_per_s), disk->folder);
}

/// Calls in flight of the node that limits the rate, if they wait on threads of their own and their
/// results keep their order: how much their waits differ decides how many wait at once. 0: none.
double waiting_calls(const Problem& problem, const Settled& settled, const Evaluation& after) {
  if (after.bounds.empty() || after.bounds.front().kind != BoundKind::kParallel) return 0;
  const NodeId id = after.bounds.front().nodes.front();
  const bool waits =
      settled.setting[id].mode == Mode::kParallelUnbounded && waits_for_order(problem.node(id));
  return waits ? settled.setting[id].parallelism : 0;
}

void set_range(const Problem& problem, const Settled& settled, const Evaluation& after,
               Predicted& predicted) {
  const double rate = predicted.after_per_s;
  const char* quicker = "elements out of a cache are handed on in less time than new ones were";
  const bool at_least = hands_on_cached(problem, settled, after);
  predicted.why = why_upper_bound(problem, settled, after);
  if (!predicted.why.empty()) {
    const double least = std::min(predicted.before_per_s, rate * (1 - kWide));
    predicted.upper_bound = !at_least;
    predicted.range_per_s = {least, at_least ? rate * kQuickerHandedOn : rate};
    if (at_least) predicted.why += fmt::format(", and {}", quicker);
    return;
  }
  if (at_least) {
    predicted.lower_bound = true;
    predicted.range_per_s = {rate * (1 - kWide), rate * kQuickerHandedOn};
    predicted.why = quicker;
    return;
  }
  if (const double calls = waiting_calls(problem, settled, after); calls > 2) {
    predicted.upper_bound = true;
    predicted.range_per_s = {rate / order_loss(calls, kHeldBackAtMost), rate};
    predicted.why = "results keep their order, so that fewer calls wait at once where waits differ";
    return;
  }
  if (const std::string assumed = assumed_disk(problem, after); !assumed.empty()) {
    predicted.range_per_s = {rate * (1 - kWide), rate * (1 + kWide)};
    predicted.why = assumed;
    return;
  }
  const bool traced_hand_off = problem.costs.hand_off_known;
  const bool wide = hands_over_calls(problem, settled) || !traced_hand_off;
  const double width = wide ? kWide : kNear;
  predicted.range_per_s = {rate * (1 - width), rate * (1 + width)};
  if (!traced_hand_off) {
    predicted.why = "CPU time of the trace, taken to grow with the rate alone";
  } else if (problem.costs.hand_off.calibrated) {
    predicted.why = "times of the trace, hand-offs as calibrated on its machine";
  } else {
    predicted.why = "times of the trace, hand-offs as on a machine that was measured before";
  }
}

}  // namespace

double mean_rate_per_s(double first_period_s, double later_period_s, double epochs) {
  const double all_s = first_period_s + (epochs - 1) * later_period_s;
  return all_s > 0 ? epochs / all_s : 0;
}

Predicted predict(const Problem& problem, const Settled& settled, double without_cache_period_s) {
  Predicted predicted;
  const Evaluation before = evaluate(problem, problem.stock);
  const Evaluation after = evaluate(problem, settled);
  const Evaluation first = evaluate_first_epoch(problem, settled);
  predicted.as_traced_per_s = problem.analysis->rate.observed_per_s;
  predicted.before_per_s = rate_of(before.period_s);
  predicted.after_per_s = rate_of(after.period_s);
  const bool first_known = !any_never_ran(problem);
  if (first_known) predicted.first_epoch_per_s = rate_of(first.period_s);
  if (predicted.before_per_s > 0) {
    predicted.speedup = predicted.after_per_s / predicted.before_per_s;
  }
  if (first_known && any_planned_cache(problem, settled) &&
      without_cache_period_s > after.period_s) {
    const double lost_s = first.period_s - after.period_s;
    const double won_s = without_cache_period_s - after.period_s;
    predicted.cache_pays_after_epochs = std::floor(lost_s / won_s + 1e-9) + 1;
  }
  if (!after.bounds.empty()) predicted.bound = after.bounds.front();
  set_range(problem, settled, after, predicted);
  predicted.sensitivity = sensitivity(problem, settled);
  return predicted;
}

}  // namespace plumber
