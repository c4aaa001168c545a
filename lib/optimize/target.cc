// SPDX-License-Identifier: Apache-2.0
#include "optimize/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_format.h"
#include "optimize/ledger.h"
#include "optimize/provision.h"

namespace plumber {
namespace {

constexpr double kReached = 1 - 1e-9;  // of a target: up to rounding
constexpr double kPlentyCores = 4096;
constexpr double kPlenty_bytes = 1e15;
constexpr double kMiB = 0x1p20;
constexpr double kTriedNodes = 12'000, kFewestTries = 4, kMostTries = 80;
constexpr double kNear = 1.01;  // memory that would do is told so exactly

bool reaches(const Problem& problem, const Settled& settled, double rate_per_s) {
  const double period_s = evaluate(problem, settled).period_s;
  return period_s > 0 && 1 / period_s >= rate_per_s * kReached;
}

bool stock_reaches(const Problem& problem, double rate_per_s) {
  const double period_s = evaluate(problem, problem.stock).period_s;
  const bool fits = stock_memory_bytes(problem) <= problem.options->limits.memory_bytes;
  return fits && period_s > 0 && 1 / period_s >= rate_per_s * kReached;
}

/// Fewest cores that are enough, above `low`, which is not, up to `high`, which is.
template <class Enough>
double fewest_between(double low, double high, const Enough& enough) {
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

/// Fewest cores of up to `most` that are enough; nullopt if all of them are not.
template <class Enough>
std::optional<double> fewest_cores(double most, const Enough& enough) {
  if (!enough(most)) return std::nullopt;
  return std::min(fewest_between(0, std::ceil(most), enough), most);
}

Problem problem_with(const Pipeline& pipeline, const Analysis& analysis,
                     const OptimizeOptions& options) {
  return make_problem(pipeline, analysis, options, machine_of(options.limits));
}

Problem problem_on(double cores, const Pipeline& pipeline, const Analysis& analysis,
                   const OptimizeOptions& options) {
  Machine machine = machine_of(options.limits);
  machine.cores = cores;
  return make_problem(pipeline, analysis, options, machine);
}

Limits limits_of(const Provision& provision, Limits limits) {
  limits.cores_from_trace = limits.cores_from_trace && provision.cores == limits.cores;
  limits.memory_from_trace = false;
  limits.cores = provision.cores;
  limits.memory_bytes = provision.memory_bytes;
  if (provision.disk_bytes_per_s) limits.disks = {{"", flat_disk(*provision.disk_bytes_per_s)}};
  return limits;
}

std::optional<Provision> cheapest(const Pipeline& pipeline, const Analysis& analysis,
                                  const OptimizeOptions& options) {
  const double rate = *options.target_rate_per_s;
  const Problem most = problem_with(pipeline, analysis, options);
  return cheapest_provision(offer_for(most, rate), *options.prices, [&](const Provision& bought) {
    OptimizeOptions with = options;
    with.limits = limits_of(bought, options.limits);
    return plan_reaches(problem_with(pipeline, analysis, with), rate);
  });
}

/// What limits the rate, in words that follow "...: ".
std::string limit_text(const Problem& problem, const std::optional<Bound>& bound) {
  if (!bound) return "";
  if (bound->kind == BoundKind::kConsumer) return ": the consumer";
  const std::string node = bound->nodes.empty() ? "" : problem.node(bound->nodes.front()).name;
  const std::string most = node.empty() ? "" : ", most of all " + node;
  switch (bound->kind) {
    case BoundKind::kCpu:
      return fmt::format(": the {}{}", counted(problem.machine.cores, "core"), most);
    case BoundKind::kDisk:
      return ": the disk" + most;
    case BoundKind::kPythonLock:
      return ": Python's lock" + most;
    case BoundKind::kParallel:
      return ": the calls of " + node;
    default:
      return ": one thread" + most;
  }
}

double with_limits_per_s(const Problem& problem, const Limits& limits) {
  OptimizeOptions options = *problem.options;
  options.limits = limits;
  const Problem other = problem_with(*problem.pipeline, *problem.analysis, options);
  const BestPlan plan = best_plan(other, {0, true});
  const double period_s = evaluate(other, plan.settled).period_s;
  return plan.fits && period_s > 0 ? 1 / period_s : 0;
}

/// Looks for the budget that would do, with so many plans as a program of this size has time for.
class EnoughBudget {
 public:
  EnoughBudget(const Problem& problem) : problem_(problem), limits_(problem.options->limits) {
    const auto nodes = static_cast<double>(problem.pipeline->size());
    left_ = static_cast<int>(std::clamp(kTriedNodes / nodes, kFewestTries, kMostTries));
  }

  /// More of one thing, and of which, else of all.
  std::string in_words() {
    const std::string text = what_would_do();
    if (!cut_) return text;
    return text + "; less may do too, but so large a program is not tried with more budgets";
  }

 private:
  bool any_left() {
    cut_ = cut_ || left_ <= 0;
    return left_ > 0;
  }

  bool reach(const Limits& limits) {
    --left_;
    return with_limits_per_s(problem_, limits) >= *problem_.options->target_rate_per_s * kReached;
  }

  /// Fewest cores with these other limits, as an option. From below: with very many the calls in
  /// flight no longer fit the memory.
  std::string cores_that_do(Limits limits) {
    double low = std::floor(limits_.cores), high = 0;  // low is not enough, high is
    for (limits.cores = 2 * std::ceil(limits_.cores); high == 0; limits.cores *= 2) {
      if (limits.cores > kPlentyCores || !any_left()) return "";
      (reach(limits) ? high : low) = limits.cores;
    }
    const double fewest = fewest_between(low, high, [&](double cores) {
      limits.cores = cores;
      return any_left() && reach(limits);
    });
    return fmt::format("--cores {:.0f}", fewest * limits.processes);
  }

  /// Least memory with these other limits, as an option.
  std::string memory_that_does(Limits limits) {
    double low = limits.memory_bytes, high = kPlenty_bytes;  // low is not enough, high is
    limits.memory_bytes = high;
    if (!any_left() || !reach(limits)) return "";
    while (high > low * kNear && high - low > kMiB && any_left()) {
      limits.memory_bytes = std::sqrt(std::max(low, kMiB) * high);
      (reach(limits) ? high : low) = limits.memory_bytes;
    }
    return fmt::format("--mem {:.0f}M", std::ceil(high * limits.processes / kMiB));
  }

  std::string what_would_do() {
    const Limits plenty = {kPlentyCores, kPlenty_bytes, {}};
    const std::string cores = cores_that_do(limits_);
    const std::string memory = memory_that_does(limits_);
    const std::string either = cores.empty() || memory.empty() ? "" : " or ";
    if (!cores.empty() || !memory.empty()) return cores + either + memory + " would do";
    Limits read_at_once = limits_;
    read_at_once.disks.clear();
    if (any_left() && reach(read_at_once)) return "A faster disk would do";
    std::string all = cores_that_do(plenty);
    if (all.empty()) all = fmt::format("--cores {:.0f}", plenty.cores * plenty.processes);
    return all + " with memory and disk without end would do";
  }

  const Problem& problem_;
  const Limits& limits_;
  int left_ = 0;  // budgets that may still be tried
  bool cut_ = false;
};

}  // namespace

bool plan_reaches(const Problem& problem, double rate_per_s) {
  BestPlan plan = best_plan(problem);
  // Fewer edits within 2 % of the fastest may just miss what can be reached.
  if (plan.fits && !reaches(problem, plan.settled, rate_per_s))
    plan = best_plan(problem, {1 / (rate_per_s * kReached), false});
  return plan.fits && reaches(problem, plan.settled, rate_per_s);
}

std::optional<double> unchanged_cores(const Pipeline& pipeline, const Analysis& analysis,
                                      const OptimizeOptions& options) {
  return fewest_cores(options.limits.cores, [&](double cores) {
    return stock_reaches(problem_on(cores, pipeline, analysis, options),
                         *options.target_rate_per_s);
  });
}

TargetLimits limits_for_target(const Pipeline& pipeline, const Analysis& analysis,
                               const OptimizeOptions& options) {
  TargetLimits target;
  target.limits = options.limits;
  const double rate = *options.target_rate_per_s;
  const double most = options.limits.cores;
  if (options.prices) {
    target.provision = cheapest(pipeline, analysis, options);
    target.reached = target.provision.has_value();
    if (target.reached) target.limits = limits_of(*target.provision, options.limits);
    return target;
  }
  const auto cores = fewest_cores(most, [&](double n) {
    return plan_reaches(problem_on(n, pipeline, analysis, options), rate);
  });
  target.reached = cores.has_value();
  target.limits.cores = cores.value_or(most);
  if (target.limits.cores < most) target.limits.cores_from_trace = false;
  return target;
}

BestPlan plan_for_target(const Problem& problem, double rate_per_s) {
  if (rate_per_s <= 0) return best_plan(problem);
  BestPlan cheapest = best_plan(problem, {1 / (rate_per_s * kReached), false});
  // Calls are settled after the search, which may cost the last thousandth.
  return reaches(problem, cheapest.settled, rate_per_s) ? cheapest : best_plan(problem);
}

std::string what_stops(const Problem& problem, double most_per_s,
                       const std::optional<Bound>& bound) {
  const double target = *problem.options->target_rate_per_s;
  const std::string text =
      fmt::format("the target of {} is out of reach; {} is the most{}", format_rate(target),
                  format_rate(most_per_s), limit_text(problem, bound));
  OptimizeOptions plenty = *problem.options;
  plenty.limits = {kPlentyCores, kPlenty_bytes, {}};
  const Problem richer = problem_with(*problem.pipeline, *problem.analysis, plenty);
  const BestPlan plan = best_plan(richer, {0, true});
  if (reaches(richer, plan.settled, target)) return text + ". " + EnoughBudget(problem).in_words();
  const Evaluation best = evaluate(richer, plan.settled);
  const auto limit = best.bounds.empty() ? std::nullopt : std::optional(best.bounds.front());
  return fmt::format("{}. No budget reaches it: with cores, memory and disk without end it is {}{}",
                     text, format_rate(best.period_s > 0 ? 1 / best.period_s : 0),
                     limit_text(richer, limit));
}

}  // namespace plumber
