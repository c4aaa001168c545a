// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "cluster/knee.h"

namespace plumber {
namespace {

constexpr std::array kObjectives{ClusterObjective::kTime, ClusterObjective::kCost,
                                 ClusterObjective::kKnee, ClusterObjective::kCostTime};

std::string broken_constraint(const Constraints& limits, const Candidate& candidate) {
  if (limits.max_hours && candidate.hours > *limits.max_hours) {
    return fmt::format("takes {:.4g} h, at most {:.4g} h are allowed", candidate.hours,
                       *limits.max_hours);
  }
  if (limits.max_cost_usd && candidate.cost_usd > *limits.max_cost_usd) {
    return fmt::format("costs {:.2f} USD, at most {:.2f} are allowed", candidate.cost_usd,
                       *limits.max_cost_usd);
  }
  if (limits.max_usd_per_hour && candidate.usd_per_hour > *limits.max_usd_per_hour) {
    return fmt::format("costs {:.4g} USD an hour, at most {:.4g} are allowed",
                       candidate.usd_per_hour, *limits.max_usd_per_hour);
  }
  return "";
}

double value_of(const Candidate& candidate, ClusterObjective objective) {
  switch (objective) {
    case ClusterObjective::kTime:
    case ClusterObjective::kKnee:
      return candidate.hours;
    case ClusterObjective::kCost:
      return candidate.cost_usd;
    case ClusterObjective::kCostTime:
      return candidate.cost_usd * candidate.hours;
  }
  return 0;
}

const Candidate* least(const std::vector<Candidate>& candidates, ClusterObjective objective) {
  const Candidate* best = nullptr;  // the first of equals: candidates ascend in K, then B
  for (const Candidate& one : candidates) {
    if (!best || value_of(one, objective) < value_of(*best, objective)) best = &one;
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
    plan.policies.push_back({name, evaluate(model, request.around, at).candidate});
  }
}

void warn_of_range(const Model& model, ClusterPlan& plan) {
  const Configuration& at = plan.choice->at;
  const auto beyond = [&](const char* name, double value, const Range& seen) {
    if (value >= seen.first && value <= seen.second) return;
    plan.warnings.push_back(
        fmt::format("the choice is extrapolated: {} {:.6g}, but the runs have {:.6g} to {:.6g}",
                    name, value, seen.first, seen.second));
  };
  beyond("workers", at.workers, model.valid.workers);
  beyond("batch", at.global_batch, model.valid.global_batch);
  beyond("batch per worker", at.global_batch / at.workers, model.valid.per_worker_batch);
}

void add_by_machine(ClusterPlan& plan) {
  for (std::size_t machine = 0; machine < plan.machines.size(); ++machine) {
    std::vector<Candidate> own;
    for (const Candidate& one : plan.candidates) {
      if (one.at.machine == machine) own.push_back(one);
    }
    const Candidate* best = least(own, plan.objective);
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
    throw Error(ErrorKind::kUsage, "", "no workers, no batch or no machine to choose from");
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

std::vector<Candidate> pareto_front(const std::vector<Candidate>& candidates) {
  std::vector<Candidate> sorted = candidates;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.hours, a.cost_usd) < std::pair(b.hours, b.cost_usd);
  });
  std::vector<Candidate> front;
  for (const Candidate& one : sorted) {
    if (front.empty() || one.cost_usd < front.back().cost_usd) front.push_back(one);
  }
  return front;
}

std::optional<KneePoint> knee_of(const std::vector<Candidate>& front) {
  if (front.empty()) return std::nullopt;
  if (front.size() == 1) return KneePoint{0, "only-point", "one point has no knee"};
  std::vector<double> hours, cost;
  for (const Candidate& one : front) {
    hours.push_back(one.hours);
    cost.push_back(one.cost_usd);
  }
  const Knee knee = find_knee(hours, cost);
  if (knee.index) return KneePoint{*knee.index, "kneedle", ""};
  const auto farthest = farthest_from_chord(hours, cost);
  return KneePoint{farthest.value_or(0), "maximum-distance", knee.why};
}

void evaluate_all(const Model& model, const PlanRequest& request, ClusterPlan& plan) {
  for (std::size_t machine = 0; machine < request.around.machines.size(); ++machine) {
    for (const double workers : request.workers) {
      for (const double batch : request.batches) {
        const Configuration at{workers, batch, machine};
        Evaluation found = evaluate(model, request.around, at);
        if (found.candidate) {
          found.why_not = broken_constraint(request.constraints, *found.candidate);
        }
        if (found.why_not.empty()) {
          plan.candidates.push_back(*found.candidate);
        } else {
          plan.rejected.push_back({at, found.why_not});
        }
      }
    }
  }
  plan.pareto = pareto_front(plan.candidates);
  plan.knee = knee_of(plan.pareto);
}

std::optional<Candidate> choose(const ClusterPlan& plan, ClusterObjective objective) {
  if (objective == ClusterObjective::kKnee) {
    if (!plan.knee) return std::nullopt;
    return plan.pareto[plan.knee->index];
  }
  const Candidate* best = least(plan.candidates, objective);
  return best ? std::optional(*best) : std::nullopt;
}

ClusterPlan make_cluster_plan(const Model& model, const PlanRequest& request) {
  check(model, request);
  ClusterPlan plan;
  plan.objective = request.objective;
  plan.machines = request.around.machines;
  evaluate_all(model, request, plan);
  plan.choice = choose(plan, request.objective);
  add_policies(model, request, plan);
  add_by_machine(plan);
  if (!plan.choice) return plan;
  warn_of_range(model, plan);
  if (request.replicates > 0 && !model.runs.empty()) {
    plan.robustness = robustness_of(model, request, *plan.choice);
  }
  return plan;
}

std::vector<double> batch_grid(const Model& model, const Range& range) {
  std::vector<double> batches{range.first, range.second};
  for (const Run& run : model.runs) {
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
