// SPDX-License-Identifier: Apache-2.0
// The choice among all configurations: every (K, B, machine type) is evaluated, those that break a
// constraint are rejected with the reason, and the objective picks among the rest.
//
//   time       least hours            cost       least dollars
//   cost-time  least product          knee       Kneedle on the Pareto front of (hours, cost),
//                                                or, where it finds none, the point farthest from
//                                                the line between the front's ends
//
// Ties go to fewer workers, then to the smaller batch, then to the earlier machine type.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/outcome.h"

namespace plumber {

enum class ClusterObjective { kTime, kCost, kKnee, kCostTime };
std::string objective_word(ClusterObjective objective);
std::optional<ClusterObjective> objective_of(const std::string& word);

struct Constraints {
  std::optional<double> max_cost_usd;
  std::optional<double> max_hours;
  std::optional<double> max_usd_per_hour;  // of all machines together
};

struct PlanRequest {
  std::vector<double> workers;  // to consider, ascending
  std::vector<double> batches;
  Surroundings around;
  Constraints constraints;
  ClusterObjective objective = ClusterObjective::kTime;
  std::optional<Configuration> fixed_default;  // a reference policy; nullopt: the middle of both
  int replicates = 200;                        // of the bootstrap; 0 for none; fewer on large grids
};

struct RejectedConfiguration {
  Configuration at;
  std::string reason;
};

/// The least of what a constraint limits, among the configurations that break one.
struct NearestMiss {
  std::string limit;  // "max_cost_usd", "max_hours", "max_usd_per_hour"
  Outcome outcome;
};

struct KneePoint {
  std::size_t index = 0;  // in the Pareto front
  std::string method;     // "kneedle", "maximum-distance", "no-bend", "only-point"
  std::string why;        // why Kneedle found none
};

/// A way to choose without any model.
struct Policy {
  std::string name;  // "largest", "smallest", "default"
  std::optional<Outcome> outcome;
};

struct WinShare {
  Configuration at;
  double share = 0;  // of the replicates in which it is the choice
};

/// 5 % and 95 % quantiles over the replicates, and who wins in them.
struct Robustness {
  Range hours{0, 0};
  Range cost_usd{0, 0};
  Range epochs{0, 0};
  Range iteration_s{0, 0};
  std::vector<WinShare> winners;  // largest share first; none while candidates are upper bounds
  int replicates = 0;
};

struct ClusterPlan {
  std::string target;              // of the job: what the epochs lead to
  std::string learning_rate_rule;  // of the job, by which they hold for another batch
  ClusterObjective objective = ClusterObjective::kTime;
  std::vector<MachineType> machines;
  std::optional<Outcome> choice;    // nullopt: nothing meets the constraints
  std::vector<Outcome> candidates;  // that meet them, by machine, workers, batch
  std::vector<Outcome> pareto;      // by hours, ascending
  std::optional<KneePoint> knee;
  std::vector<RejectedConfiguration> rejected;
  std::size_t over_limit = 0;        // of the rejected: those that break a constraint
  std::vector<NearestMiss> nearest;  // one a constraint, where some break one
  std::vector<Policy> policies;
  std::optional<Robustness> robustness;
  Spot spot;
  std::vector<Outcome> by_machine;  // the objective's best of each machine type
  std::vector<std::string> warnings;

  /// The runs do not determine some candidates.
  bool some_at_most() const;
};

/// Error(kInput) when the model lacks what a plan needs: epochs, samples; Error(kUsage) for more
/// configurations than can be tried.
ClusterPlan make_cluster_plan(const Model& model, const PlanRequest& request);

/// The front: nobody is both faster and cheaper. By hours, ascending.
std::vector<Outcome> pareto_front(const std::vector<Outcome>& candidates);

/// The knee of a front; nullopt for an empty one.
std::optional<KneePoint> knee_of(const std::vector<Outcome>& front);

/// Everything evaluated and sorted into `plan`.
void evaluate_all(const Model& model, const PlanRequest& request, ClusterPlan& plan);

/// What a plan with a choice rests on that the runs do not show.
void add_warnings(const Model& model, const PlanRequest& request, ClusterPlan& plan);

/// The objective's choice alone: without a list of the others where the objective needs none.
std::optional<Outcome> best_of(const Model& model, const PlanRequest& request);

/// The objective's choice among plan.candidates, by plan.pareto and plan.knee for the knee.
std::optional<Outcome> choose(const ClusterPlan& plan, ClusterObjective objective);

/// The bootstrap: the model fitted again to its own predictions with its residuals drawn anew.
Robustness robustness_of(const Model& model, const PlanRequest& request, const Outcome& choice);

/// The objective's value of each candidate in each replicate: [replicate][candidate].
std::vector<std::vector<double>> replicate_values(const Model& model, const PlanRequest& request,
                                                  const std::vector<Outcome>& candidates);

/// What the objective makes small: hours (also for the knee), USD, or their product.
double objective_value(const Outcome& outcome, ClusterObjective objective);

/// Batches to consider between two: the runs' own, and steps of about 9 % (8 an octave).
std::vector<double> batch_grid(const Model& model, const Range& range);

}  // namespace plumber
