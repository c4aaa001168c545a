// SPDX-License-Identifier: Apache-2.0
// What a choice rests on that the runs do not show.
#include <fmt/format.h>

#include <algorithm>

#include "cluster/plan.h"

namespace plumber {
namespace {

constexpr std::size_t kMostNamed = 5;  // machine types in a warning

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

void warn_of_input(const PlanRequest& request, ClusterPlan& plan) {
  const std::string& name = plan.machines[plan.choice->at.machine].name;
  for (const InputRate& rate : request.around.input) {
    if (!rate.at_most || (!rate.machine.empty() && rate.machine != name)) continue;
    plan.warnings.push_back(fmt::format(
        "the input pipeline delivers at most {:.4g} samples/s on a machine, perhaps less: "
        "plumber optimize says why",
        rate.samples_per_s));
    return;
  }
}

// Types without runs of their own share the law of the runs that name none.
void warn_of_machines(const Model& model, ClusterPlan& plan) {
  std::vector<std::string> alike, names;
  for (const MachineType& machine : plan.machines) {
    const IterationFit* fit = iteration_for(model, machine.name);
    const bool known = std::find(names.begin(), names.end(), machine.name) != names.end();
    if (known) continue;  // in another region
    names.push_back(machine.name);
    if (fit && fit->machine.empty()) alike.push_back(machine.name);
  }
  if (alike.size() < 2) return;
  const std::size_t count = alike.size();
  const bool all = count == names.size();
  if (count > kMostNamed) {
    alike.resize(kMostNamed);
    alike.push_back(fmt::format("and {} more", count - kMostNamed));
  }
  plan.warnings.push_back(fmt::format(
      "{} machine types ({}) are taken as equally fast: {} name a machine type; add a column "
      "'machine' to the runs, with profiles on each type, and fit again",
      fmt::format("{}{}", all ? "all " : "", count), fmt::join(alike, ", "),
      all ? "the runs do not" : "their runs do not"));
}

// What the runs do not determine, and what would.
void warn_of_bounds(ClusterPlan& plan) {
  const auto warn_of = [&](Determined kind, const char* what) {
    const auto count = std::count_if(plan.candidates.begin(), plan.candidates.end(),
                                     [&](const Outcome& one) { return one.determined == kind; });
    if (count == 0) return;
    const bool chosen = plan.choice && plan.choice->determined == kind;
    plan.warnings.push_back(fmt::format("{} of {} configurations{} {}", count,
                                        plan.candidates.size(),
                                        chosen ? ", the choice among them," : "", what));
  };
  warn_of(Determined::kAtMostAsApart,
          "have several workers on a machine, which no run shows: their times and costs are upper "
          "bounds, those of one worker a machine; add such runs, with their machines in a column "
          "'nodes', and fit again");
  warn_of(Determined::kAtMostAsPairs,
          "are on more than two machines, which no run shows: their times and costs are upper "
          "bounds, each further machine taken for another exchange as between two; add a run on "
          "more machines, and fit again");
  warn_of(Determined::kAtMostAsGrown,
          "have another number of workers than the only one that the runs show on a machine, or on "
          "several: their times and costs are upper bounds, the network no faster with fewer "
          "workers, and with more of them slower with each; add runs with other numbers, and fit "
          "again");
}

}  // namespace

void add_warnings(const Model& model, const PlanRequest& request, ClusterPlan& plan) {
  warn_of_machines(model, plan);
  warn_of_bounds(plan);
  warn_of_range(model, plan);
  warn_of_input(request, plan);
}

}  // namespace plumber
