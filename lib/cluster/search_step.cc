// SPDX-License-Identifier: Apache-2.0
#include "cluster/search_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cluster/fit.h"
#include "cluster/profile_choice.h"

namespace plumber {
namespace {

// How far a predicted value may be off: so much of it is worth a profile that tells.
constexpr double kMayBeOff = 0.08;

// What the job allows, workers ascending, then batches.
std::vector<Placement> grid_of(const SearchState& state) {
  std::vector<Placement> grid;
  for (const double workers : state.workers) {
    for (const double batch : state.batches) {
      if (!job_refusal(state.job, workers, batch).empty()) continue;
      grid.push_back({workers, state.nodes_of(workers), batch, 0});
    }
  }
  if (grid.empty()) {
    throw Error(ErrorKind::kInput, "", "the job allows no batch with any number of workers",
                "see min_batch, max_batch and max_per_worker_batch; a worker needs one sample");
  }
  return grid;
}

// The last run of a configuration: a profile that was repeated replaces the earlier one.
const ExploredRun* explored(const SearchState& state, const Configuration& at) {
  const ExploredRun* last = nullptr;
  for (const ExploredRun& one : state.runs) {
    if (one.run.workers == at.workers && one.run.global_batch == at.global_batch) last = &one;
  }
  return last;
}

// A run that measured no noise has none that could settle.
bool is_settled(const ExploredRun& one) { return one.noise_stable || !one.run.noise; }

std::vector<TrainingRun> runs_of(const SearchState& state) {
  std::vector<TrainingRun> runs;
  for (const ExploredRun& one : state.runs) runs.push_back(one.run);
  return runs;
}

void add_spent(const SearchState& state, SearchOutcome& result) {
  for (const ExploredRun& one : state.runs) {
    const double seconds = state.restore_s + one.iterations * one.run.iteration_s.value_or(0);
    result.spent_hours += seconds / 3600;
    const double usd = seconds / 3600 * one.run.workers * state.usd_per_hour;
    result.spent_usd += usd;
    const Configuration at{one.run.workers, one.run.global_batch, 0};
    result.explored.push_back({at, one.iterations, seconds, usd, {}, {}});
  }
}

PlanRequest request_of(const SearchState& state) {
  PlanRequest request;
  request.workers = state.workers;
  request.batches = state.batches;
  request.around.machines = {priced_worker(state.usd_per_hour)};
  request.around.workers_per_node = state.workers_per_node;
  request.constraints = state.constraints;
  request.objective = state.objective;
  return request;
}

// The model of what was seen, with stored epochs where the runs have none; nullopt when the runs do
// not carry one yet.
std::optional<Model> model_of(const SearchState& state, const std::vector<StoredModel>& store,
                              std::string& why) {
  try {
    Model model = fit_model(runs_of(state), state.job, {});
    add_profiled(model);
    const auto stored = model.epochs ? std::nullopt : model_for(state, store);
    if (stored && model.noise) model.epochs = stored->model.epochs;
    if (!model.job.samples && stored) model.job.samples = stored->model.job.samples;
    return model;
  } catch (const Error& error) {
    why = error.what();
    return std::nullopt;
  }
}

// The cost of running a configuration for so long, where its iteration can be told.
SearchStep step_at(const SearchState& state, const std::optional<Model>& model,
                   const Configuration& at, double iterations) {
  SearchStep step{at, iterations, {}, {}, {}, {}};
  std::optional<double> iteration_s;
  const ExploredRun* before = explored(state, at);
  if (before) iteration_s = before->run.iteration_s;
  if (!iteration_s && model) {
    const Placement place{at.workers, state.nodes_of(at.workers), at.global_batch, 0};
    const IterationModel& law = *model->iterations[0].chosen.model;
    if (determined(law, place) != Determined::kNot) {
      iteration_s = iteration_time(law, place).iteration_s;
    }
  }
  // Without a law: more workers hardly make the same batch slower.
  for (const ExploredRun& one : state.runs) {
    const bool same_batch = one.run.global_batch == at.global_batch && one.run.workers < at.workers;
    if (!iteration_s && same_batch) iteration_s = one.run.iteration_s;
  }
  if (!iteration_s) return step;
  step.seconds = state.restore_s + iterations * *iteration_s;
  step.cost_usd = *step.seconds / 3600 * at.workers * state.usd_per_hour;
  return step;
}

void finish(SearchOutcome& result, const std::string& why) {
  result.done = true;
  result.next.reset();
  result.why = why;
}

void propose(const SearchState& state, SearchOutcome& result, SearchStep step,
             const std::string& why) {
  if (!within_budget(state, result.spent_usd, step)) {
    finish(result, fmt::format("the budget of {} USD for exploring does not allow {:.6g} "
                               "workers with batch {:.6g}",
                               *state.budget_usd < 0.1 ? fmt::format("{:.2g}", *state.budget_usd)
                                                       : fmt::format("{:.2f}", *state.budget_usd),
                               step.at.workers, step.at.global_batch));
    return;
  }
  result.next = step;
  result.why = why;
}

// A configuration that the laws need, whatever it promises. The first of all runs until its noise
// settles; true while there is one.
bool propose_needed(const SearchState& state, const std::optional<Model>& model,
                    const std::vector<ProfileChoice>& needed, SearchOutcome& result) {
  const std::vector<Placement> grid = grid_of(state);
  for (const ProfileChoice& one : needed) {
    const Configuration at{grid[one.at].workers, grid[one.at].global_batch, 0};
    const ExploredRun* run = explored(state, at);
    const bool first = &one == &needed[0];
    if (run && (!first || is_settled(*run))) continue;
    const double iterations = first ? state.settle_iterations : state.profile_iterations;
    propose(state, result, step_at(state, model, at, iterations), one.why);
    return true;
  }
  return false;
}

// The first run again until its noise has settled, then the stretches of the network.
bool propose_stretch(const SearchState& state, const std::optional<Model>& model,
                     SearchOutcome& result) {
  const std::vector<Placement> grid = grid_of(state);
  std::vector<TrainingRun> timed = runs_of(state);
  std::erase_if(timed, [](const TrainingRun& run) { return !run.iteration_s; });
  const bool unsettled = !state.runs.empty() && !is_settled(state.runs.back()) &&
                         state.runs.back().run.workers == grid.front().workers;
  if (unsettled) {
    const TrainingRun& run = state.runs.back().run;
    const Configuration at{run.workers, run.global_batch, 0};
    propose(state, result, step_at(state, model, at, state.settle_iterations),
            "fewest workers, until the noise settles");
    return true;
  }
  const auto choice = next_profile(grid, timed);
  if (!choice) return false;
  const Configuration at{grid[choice->at].workers, grid[choice->at].global_batch, 0};
  const double iterations = timed.empty() ? state.settle_iterations : state.profile_iterations;
  propose(state, result, step_at(state, model, at, iterations), choice->why);
  return true;
}

// Mean over the replicates of how much better c is than the choice.
double expected_improvement(const std::vector<std::vector<double>>& values, std::size_t choice,
                            std::size_t c) {
  double sum = 0;
  for (const auto& replicate : values) sum += std::max(replicate[choice] - replicate[c], 0.0);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double exploring_in_unit(const SearchState& state, const SearchStep& step) {
  const double hours = step.seconds.value_or(0) / 3600;
  switch (state.objective) {
    case ClusterObjective::kTime:
    case ClusterObjective::kKnee:
      return hours;
    case ClusterObjective::kCost:
      return step.cost_usd.value_or(0);
    case ClusterObjective::kCostTime:
      return hours * step.cost_usd.value_or(0);
  }
  return 0;
}

// A plan does not rest on a prediction alone where a profile costs little against the training.
bool propose_choice(const SearchState& state, const Model& model, SearchOutcome& result) {
  if (explored(state, result.best->at)) return false;
  const SearchStep step = step_at(state, model, result.best->at, state.profile_iterations);
  if (exploring_in_unit(state, step) > kMayBeOff * objective_value(*result.best, state.objective)) {
    return false;
  }
  propose(state, result, step, "it is predicted to be the best, and no profile shows it yet");
  return true;
}

void propose_improvement(const SearchState& state, const Model& model, SearchOutcome& result) {
  const PlanRequest request = request_of(state);
  ClusterPlan plan;
  evaluate_all(model, request, plan);
  const auto values = replicate_values(model, request, plan.candidates);
  std::size_t choice = 0;
  while (!(plan.candidates[choice].at == result.best->at)) ++choice;
  std::optional<SearchStep> best;
  double most = 0;
  for (std::size_t c = 0; c < plan.candidates.size(); ++c) {
    if (explored(state, plan.candidates[c].at)) continue;
    SearchStep step = step_at(state, model, plan.candidates[c].at, state.profile_iterations);
    step.expected_improvement = expected_improvement(values, choice, c);
    const double gain = *step.expected_improvement - exploring_in_unit(state, step);
    if (gain <= most) continue;
    most = gain;
    best = step;
  }
  if (!best) {
    finish(result, "no further profile is expected to save what it costs");
    return;
  }
  propose(state, result, *best, "its expected improvement is above the cost of exploring it");
}

void propose_unseen(const SearchState& state, const std::optional<Model>& model,
                    SearchOutcome& result) {
  std::vector<ProfileChoice> all;
  for (std::size_t i = 0; i < grid_of(state).size(); ++i) {
    all.push_back({i, i == 0 ? "the first of the whole grid, until the noise settles"
                             : "the next of the whole grid"});
  }
  if (!propose_needed(state, model, all, result)) {
    finish(result, "every configuration has been profiled");
  }
}

// What the laws need to be known at all.
bool propose_basis(const SearchState& state, const std::optional<Model>& model,
                   SearchOutcome& result) {
  const std::vector<Placement> grid = grid_of(state);
  if (crosses_machines(grid)) return propose_stretch(state, model, result);
  return propose_needed(state, model, corners_of(grid), result);
}

void without_search(const SearchState& state, const std::vector<StoredModel>& store,
                    SearchOutcome& result) {
  auto stored = model_for(state, store);
  if (!stored) {
    throw Error(ErrorKind::kInput, "", "policy 'none' needs stored models", "give --store DIR");
  }
  result.model_source = stored->name;
  if (stored->is_average) {
    result.warnings.push_back(
        "an average over jobs compares configurations; its hours and costs are only as near as the "
        "jobs are alike");
  }
  if (state.job.samples) stored->model.job.samples = state.job.samples;
  if (!stored->model.job.samples) {
    throw Error(ErrorKind::kInput, "",
                "neither the state nor " + stored->name + " knows the samples",
                "give them in the state: \"job\": {\"samples\": 50000}");
  }
  PlanRequest request = request_of(state);
  request.replicates = 0;
  result.best = make_cluster_plan(stored->model, request).choice;
  finish(result, "no search: " + stored->name + " decides");
}

}  // namespace

SearchOutcome next_step(const SearchState& state, const std::vector<StoredModel>& store) {
  SearchOutcome result;
  add_spent(state, result);
  if (state.policy == SearchPolicy::kNone) {
    without_search(state, store, result);
    return result;
  }
  std::string why;
  const std::optional<Model> model =
      state.runs.empty() ? std::nullopt : model_of(state, store, why);
  const bool can_plan = model && model->epochs && model->job.samples;
  if (can_plan) {
    PlanRequest request = request_of(state);
    request.replicates = 0;
    const ClusterPlan plan = make_cluster_plan(*model, request);
    result.best = plan.choice;
    result.model_source = "runs";
  }
  if (state.policy == SearchPolicy::kFull) {
    propose_unseen(state, model, result);
  } else if (!propose_basis(state, model, result)) {
    if (result.best) {
      if (!propose_choice(state, *model, result)) propose_improvement(state, *model, result);
    } else {
      finish(result, can_plan ? "nothing meets the constraints"
                     : model  ? "the corners are profiled, but how epochs follow noise is not known"
                              : why);
    }
  }
  return result;
}

}  // namespace plumber
