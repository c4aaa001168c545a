// SPDX-License-Identifier: Apache-2.0
#include "optimize/edit_reasons.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "ops/hand_off.h"
#include "ops/memory_ledger.h"
#include "optimize/cache_choices.h"
#include "optimize/ledger.h"

namespace plumber {
namespace {

bool reads_data_sets(const Problem& problem, NodeId id) { return !problem.node(id).inner.empty(); }

/// True if its calls bring no more than a prefetch in their place would: another thread.
bool only_splits(const Problem& problem, const Settled& settled, NodeId id, bool first_epoch) {
  if (problem.stock[id].parallelism > 1 || settled.setting[id].prefetch_above) return false;
  Settled split = settled;
  split.setting[id] = {Mode::kInline, 1};
  const double alone_s = period_s(problem, split, first_epoch);
  split.setting[id].prefetch_above = true;
  const double enough_s = period_s(problem, settled, first_epoch) * (1 + kTolerance);
  return alone_s > enough_s && period_s(problem, split, first_epoch) <= enough_s;
}

std::string why_no_more_calls(const Problem& problem, const NodeSetting& setting, NodeId id) {
  const NodeSetting& stock = problem.stock[id];
  return fmt::format("{:.0f} in flight hold {}, {:.0f} would hold {}: there is no memory for them",
                     setting.parallelism, format_bytes(in_flight_bytes(problem, id, setting)),
                     stock.parallelism, format_bytes(in_flight_bytes(problem, id, stock)));
}

std::string why_more_calls(const Problem& problem, double calls, NodeId id, const char* when) {
  const double work_s = problem.cost(id).work_s;
  const double cores = std::max(1.0, problem.machine.cores);
  const double beside = std::min(calls, cores), stock = problem.stock[id].parallelism;
  std::string reason =
      fmt::format("{} of work a root element on {:.0f} call{} at a time{}; on {} core{} it is {}",
                  format_seconds(work_s), stock, stock == 1 ? "" : "s", when, format_number(beside),
                  beside == 1 ? "" : "s", format_seconds(work_s / beside));
  if (calls > cores) {
    reason +=
        fmt::format(", and {:.0f} calls in flight keep {} busy", calls, cores == 1 ? "it" : "them");
  }
  return reason;
}

std::string why_own_threads(const Problem& problem, double calls, NodeId id, const char* when) {
  const NodeCost& cost = problem.cost(id);
  const double waiting = 1 - cost.cpu_s / cost.work_s;
  return fmt::format(
      "a call takes {}{}, of which it waits {}, and holds a thread of TensorFlow's pool meanwhile, "
      "which has {}; on threads of their own {:.0f} wait at once",
      format_seconds(cost.work_s / cost.calls), when, format_share(waiting),
      format_number(std::max(1.0, std::floor(problem.machine.cores))), calls);
}

/// What a call costs beyond its work as stock TensorFlow runs it.
double hand_off_s(const Problem& problem, NodeId id, double work_s) {
  const HandOff& constants = problem.costs.hand_off;
  const NodeSetting& stock = problem.stock[id];
  if (!is_boundary(problem.node(id), stock)) return dispatch_latency_s(constants, work_s);
  return parallel_call(constants, work_s, calls_in_flight(stock, problem.machine.cores)).wall_s;
}

}  // namespace

double period_s(const Problem& problem, const Settled& settled, bool first_epoch) {
  return (first_epoch ? evaluate_first_epoch(problem, settled) : evaluate(problem, settled))
      .period_s;
}

std::string why_calls(const Problem& problem, const Settled& settled, NodeId id, bool first_epoch) {
  const double work_s = problem.cost(id).work_s;
  const double calls = settled.setting[id].parallelism;
  const bool fixed = settled.fixed_autotune[id] != 0, reads = reads_data_sets(problem, id);
  const char* when = first_epoch ? " in the first epoch" : "";
  if (settled.setting[id].mode == Mode::kParallelUnbounded &&
      problem.stock[id].mode != Mode::kParallelUnbounded)
    return why_own_threads(problem, calls, id, when);
  if (fixed && reads)
    return "a number in place of AUTOTUNE, so that reading keeps up with the rest";
  if (fixed)
    return fmt::format("a number in place of AUTOTUNE{}: {} of work a root element need no more",
                       problem.node(id).parallelism ? "" : ", which TensorFlow would add by itself",
                       format_seconds(work_s));
  if (calls < problem.stock[id].parallelism && !reads)
    return why_no_more_calls(problem, settled.setting[id], id);
  if (reads)
    return fmt::format(
        "{:.0f} data sets are read at a time{}, so that reading keeps up with the rest", calls,
        when);
  if (only_splits(problem, settled, id, first_epoch))
    return fmt::format(
        "what is above it and what is below it run on two threads{}; its own {} a root element "
        "would need no other",
        when, format_seconds(work_s));
  return why_more_calls(problem, calls, id, when);
}

std::string why_sequential(const Problem& problem, const NodeSetting& setting, NodeId id) {
  const NodeCost& cost = problem.cost(id);
  if (reads_data_sets(problem, id))
    return "handing its elements over costs more than reading beside the rest saves";
  const double work_s = cost.calls > 0 ? cost.work_s / cost.calls : cost.work_s;
  if (setting.mode != Mode::kInline)
    return fmt::format("{} of work a call is less than handing it to another thread costs",
                       format_seconds(work_s));
  return fmt::format("{}{} of work a call against {} to hand it to another thread",
                     cost.work_clamped ? "at most " : "", format_seconds(work_s),
                     format_seconds(hand_off_s(problem, id, work_s)));
}

std::string why_cached(const Problem& problem, const NodeSetting& setting, NodeId id) {
  const NodeAnalysis& node = problem.analysis->nodes[id];
  std::string reason;
  if (setting.on_disk) {
    reason = fmt::format(
        "holds {} in a file; all below it runs in the first epoch only, which writes the file at "
        "{} at most; later ones read {} a root element from it",
        format_bytes(filed_bytes(problem, id)),
        format_bytes_rate(problem.machine.disk_cache->write_bytes_per_s),
        format_bytes(problem.cost(id).file_cache_bytes));
  } else {
    reason = fmt::format("holds {}; all below it runs in the first epoch only",
                         format_bytes(cached_bytes(node)));
  }
  if (node.cache.cache_class != CacheClass::kExact && !node.cache.reason.empty())
    reason += "; " + node.cache.reason;
  return reason;
}

std::string why_buffered(const Problem& problem, int size, NodeId id) {
  const std::int64_t now = problem.node(id).buffer_size.value_or(0);
  const bool fits = stock_memory_bytes(problem) <= problem.options->limits.memory_bytes;
  if (now == kAutotune && fits)
    return "a number in place of AUTOTUNE, which takes more while memory is free";
  if (now < 0 || now >= size) return "the program holds more than the memory it may use";
  if (size > 2)
    return "elements come so fast that a shallow buffer puts both threads to sleep at each";
  return "one element in the consumer's hands, one ready, one in the making";
}

}  // namespace plumber
