// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/knee.h"

namespace plumber {
namespace {

constexpr std::size_t kMostConfigurations = 200000;
constexpr std::array kObjectives{ClusterObjective::kTime, ClusterObjective::kCost,
                                 ClusterObjective::kKnee, ClusterObjective::kCostTime};

std::string broken_constraint(const Constraints& limits, const Outcome& candidate) {
  const char* up_to = candidate.at_most() ? "up to " : "";
  if (limits.max_hours && candidate.hours > *limits.max_hours) {
    return fmt::format("takes {}{:.4g} h, at most {:.4g} h are allowed", up_to, candidate.hours,
                       *limits.max_hours);
  }
  if (limits.max_cost_usd && candidate.cost_usd > *limits.max_cost_usd) {
    return fmt::format("costs {}{:.2f} USD, at most {:.2f} are allowed", up_to, candidate.cost_usd,
                       *limits.max_cost_usd);
  }
  if (limits.max_usd_per_hour && candidate.usd_per_hour > *limits.max_usd_per_hour) {
    return fmt::format("costs {:.4g} USD an hour, at most {:.4g} are allowed",
                       candidate.usd_per_hour, *limits.max_usd_per_hour);
  }
  return "";
}

// The nearest miss of each constraint that is set: the first of equals.
void note_miss(const Constraints& limits, const Outcome& miss, ClusterPlan& plan) {
  ++plan.over_limit;
  const auto note = [&](const char* limit, bool is_set, double Outcome::*value) {
    if (!is_set) return;
    for (NearestMiss& known : plan.nearest) {
      if (known.limit != limit) continue;
      if (miss.*value < known.outcome.*value) known.outcome = miss;
      return;
    }
    plan.nearest.push_back({limit, miss});
  };
  note("max_cost_usd", limits.max_cost_usd.has_value(), &Outcome::cost_usd);
  note("max_hours", limits.max_hours.has_value(), &Outcome::hours);
  note("max_usd_per_hour", limits.max_usd_per_hour.has_value(), &Outcome::usd_per_hour);
}

// Of equally fast ones the cheaper is better, of equally cheap ones the faster.
bool is_better(const Outcome& a, const Outcome& b, ClusterObjective objective) {
  const bool by_time = objective == ClusterObjective::kTime || objective == ClusterObjective::kKnee;
  const auto key = [&](const Outcome& one) {
    return std::pair(objective_value(one, objective), by_time ? one.cost_usd : one.hours);
  };
  return key(a) < key(b);
}

const Outcome* least(const std::vector<Outcome>& candidates, ClusterObjective objective) {
  const Outcome* best = nullptr;  // the first of equals: candidates ascend in K, then B
  for (const Outcome& one : candidates) {
    if (!best || is_better(one, *best, objective)) best = &one;
  }
  return best;
}

void add_policies(const Model& model, const PlanRequest& request, ClusterPlan& plan) {
  const auto& workers = request.workers;
  const auto& batches = request.batches;
  const Configuration middle{workers[workers.size() / 2], batches[batches.size() / 2], 0};
  const std::pair<const char*, Configuration> fixed[] = {
      {"largest", {workers.back(), batches.back(), 0}},
      {"smallest", {workers.front(), batches.front(), 0}},
      {"default", request.fixed_default.value_or(middle)}};
  for (const auto& [name, at] : fixed) {
    plan.policies.push_back({name, outcome_of(model, request.around, at).outcome});
  }
}

void add_by_machine(ClusterPlan& plan) {
  for (std::size_t machine = 0; machine < plan.machines.size(); ++machine) {
    std::vector<Outcome> own;
    for (const Outcome& one : plan.candidates) {
      if (one.at.machine == machine) own.push_back(one);
    }
    const Outcome* best = least(own, plan.objective);
    if (best) plan.by_machine.push_back(*best);
  }
}

void check(const Model& model, const PlanRequest& request) {
  if (!model.epochs) {
    throw Error(ErrorKind::kInput, "", "the model does not know how many epochs a batch needs",
                "fit runs with a column epochs, or give e_star and theta in the job file");
  }
  if (!model.job.samples) {
    throw Error(ErrorKind::kInput, "", "the model does not know the samples of the data set",
                "give a job file to the fit: {\"samples\": 50000}");
  }
  if (request.workers.empty() || request.batches.empty() || request.around.machines.empty()) {
    throw Error(ErrorKind::kUsage, "", "no workers, no batch or no machine to choose from",
                "give --workers, --batch and a price");
  }
  const std::size_t grid = request.workers.size() * request.batches.size();
  if (grid > kMostConfigurations / request.around.machines.size()) {
    throw Error(ErrorKind::kUsage, "",
                fmt::format("{} configurations, more than {}",
                            grid * request.around.machines.size(), kMostConfigurations),
                "give the ranges a step: --workers 8..2048:8 --batch 256..65536:256");
  }
}

}  // namespace

std::string objective_word(ClusterObjective objective) {
  switch (objective) {
    case ClusterObjective::kTime:
      return "time";
    case ClusterObjective::kCost:
      return "cost";
    case ClusterObjective::kKnee:
      return "knee";
    case ClusterObjective::kCostTime:
      return "cost-time";
  }
  return "";
}

std::optional<ClusterObjective> objective_of(const std::string& word) {
  for (const ClusterObjective objective : kObjectives) {
    if (objective_word(objective) == word) return objective;
  }
  return std::nullopt;
}

double objective_value(const Outcome& outcome, ClusterObjective objective) {
  switch (objective) {
    case ClusterObjective::kTime:
    case ClusterObjective::kKnee:
      return outcome.hours;
    case ClusterObjective::kCost:
      return outcome.cost_usd;
    case ClusterObjective::kCostTime:
      return outcome.cost_usd * outcome.hours;
  }
  return 0;
}

bool ClusterPlan::some_at_most() const {
  return std::any_of(candidates.begin(), candidates.end(),
                     [](const Outcome& one) { return one.at_most(); });
}

std::vector<Outcome> pareto_front(const std::vector<Outcome>& candidates) {
  std::vector<Outcome> sorted = candidates;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Outcome& a, const Outcome& b) {
    return std::pair(a.hours, a.cost_usd) < std::pair(b.hours, b.cost_usd);
  });
  std::vector<Outcome> front;
  for (const Outcome& one : sorted) {
    if (front.empty() || one.cost_usd < front.back().cost_usd) front.push_back(one);
  }
  return front;
}

std::optional<KneePoint> knee_of(const std::vector<Outcome>& front) {
  if (front.empty()) return std::nullopt;
  if (front.size() == 1) return KneePoint{0, "only-point", "one point has no knee"};
  std::vector<double> hours, cost;
  for (const Outcome& one : front) {
    hours.push_back(one.hours);
    cost.push_back(one.cost_usd);
  }
  const Knee knee = find_knee(hours, cost);
  if (knee.index) return KneePoint{*knee.index, "kneedle", ""};
  const auto farthest = farthest_from_chord(hours, cost);
  if (!farthest) return KneePoint{0, "no-bend", knee.why};
  return KneePoint{*farthest, "maximum-distance", knee.why};
}

void evaluate_all(const Model& model, const PlanRequest& request, ClusterPlan& plan) {
  for (std::size_t machine = 0; machine < request.around.machines.size(); ++machine) {
    for (const double workers : request.workers) {
      for (const double batch : request.batches) {
        const Configuration at{workers, batch, machine};
        OutcomeOrReason found = outcome_of(model, request.around, at);
        if (found.outcome) {
          found.why_not = broken_constraint(request.constraints, *found.outcome);
          if (!found.why_not.empty()) note_miss(request.constraints, *found.outcome, plan);
        }
        if (found.why_not.empty()) {
          plan.candidates.push_back(*found.outcome);
        } else {
          plan.rejected.push_back({at, found.why_not});
        }
      }
    }
  }
  plan.pareto = pareto_front(plan.candidates);
  plan.knee = knee_of(plan.pareto);
}

std::optional<Outcome> choose(const ClusterPlan& plan, ClusterObjective objective) {
  if (objective == ClusterObjective::kKnee) {
    if (!plan.knee) return std::nullopt;
    return plan.pareto[plan.knee->index];
  }
  const Outcome* best = least(plan.candidates, objective);
  return best ? std::optional(*best) : std::nullopt;
}

std::optional<Outcome> best_of(const Model& model, const PlanRequest& request) {
  if (request.objective == ClusterObjective::kKnee) {
    ClusterPlan plan;
    evaluate_all(model, request, plan);
    return choose(plan, request.objective);
  }
  std::optional<Outcome> best;
  for (std::size_t machine = 0; machine < request.around.machines.size(); ++machine) {
    for (const double workers : request.workers) {
      for (const double batch : request.batches) {
        const auto one = outcome_of(model, request.around, {workers, batch, machine}).outcome;
        if (!one || (best && !is_better(*one, *best, request.objective))) continue;
        if (broken_constraint(request.constraints, *one).empty()) best = one;
      }
    }
  }
  return best;
}

ClusterPlan make_cluster_plan(const Model& model, const PlanRequest& request) {
  check(model, request);
  ClusterPlan plan;
  plan.target = model.job.target;
  plan.learning_rate_rule = model.job.learning_rate_rule;
  plan.objective = request.objective;
  plan.machines = request.around.machines;
  plan.spot = request.around.spot;
  evaluate_all(model, request, plan);
  plan.choice = choose(plan, request.objective);
  add_policies(model, request, plan);
  add_by_machine(plan);
  if (plan.spot.from_runs && plan.spot.restart_s == 0) {
    plan.warnings.push_back(
        "the runs were interrupted, but what an interruption costs is not known: give --restart");
  }
  if (!plan.choice) return plan;
  add_warnings(model, request, plan);
  if (request.replicates > 0 && !model.runs.empty()) {
    plan.robustness = robustness_of(model, request, *plan.choice);
    // No draw tells what no run shows: who wins is open, and so is the choice's own range.
    if (plan.some_at_most()) plan.robustness->winners.clear();
  }
  return plan;
}

std::vector<double> batch_grid(const Model& model, const Range& range) {
  std::vector<double> batches{range.first, range.second};
  for (const TrainingRun& run : model.runs) {
    if (run.global_batch > range.first && run.global_batch < range.second) {
      batches.push_back(run.global_batch);
    }
  }
  for (int step = 1;; ++step) {
    const double batch = std::round(range.first * std::exp2(step / 8.0));
    if (batch >= range.second) break;
    batches.push_back(batch);
  }
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

}  // namespace plumber
