// SPDX-License-Identifier: Apache-2.0
// The model of a job that was never run: a stored one, or the average of all.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "cluster/fit.h"
#include "cluster/search_step.h"

namespace plumber {
namespace {

// Mean |ln ratio| of the features that both jobs give; infinite when there are none, and nearest of
// all for the same job.
double distance(const Job& a, const Job& b) {
  if (!a.name.empty() && a.name == b.name) return -1;
  const std::pair<std::optional<double>, std::optional<double>> features[] = {
      {a.samples, b.samples},
      {a.parameters, b.parameters},
      {a.memory_per_sample_bytes, b.memory_per_sample_bytes}};
  double sum = 0, count = 0;
  for (const auto& [mine, other] : features) {
    if (!mine || !other) continue;
    sum += std::abs(std::log(*mine / *other));
    count += 1;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::infinity();
}

// Sums over the stored models of what they say of one configuration.
struct Sums {
  double noise = 0;
  double log_epochs = 0;
  double log_iteration_s = 0;
  double count = 0;
};

Sums sums_at(const std::vector<StoredModel>& store, double workers, double batch) {
  Sums sums;
  for (const StoredModel& one : store) {
    const Model& model = one.model;
    if (!model.noise || !model.epochs) continue;
    const double epochs = epochs_at(*model.epochs, model.noise, batch);
    const IterationModel& law = *model.iterations[0].chosen.model;
    const Placement apart{workers, workers, batch};
    if (determined(law, apart) == Determined::kNot) continue;
    const double iteration_s = iteration_time(law, apart).iteration_s;
    if (epochs <= 0 || iteration_s <= 0) continue;  // beyond what it knows
    sums.noise += noise_at(*model.noise, batch);
    sums.log_epochs += std::log(epochs);
    sums.log_iteration_s += std::log(iteration_s);
    sums.count += 1;
  }
  return sums;
}

// How the profiles of this job compare with the average: jobs differ in size, and a single profile
// gives the scale.
double scale_by_profiles(const SearchState& state, const std::vector<StoredModel>& store) {
  double logs = 0, count = 0;
  for (const ExploredRun& one : state.runs) {
    const Sums sums = sums_at(store, one.run.workers, one.run.global_batch);
    if (!one.run.iteration_s || sums.count == 0) continue;
    logs += std::log(*one.run.iteration_s) - sums.log_iteration_s / sums.count;
    count += 1;
  }
  return count > 0 ? std::exp(logs / count) : 1;
}

// What all stored models say on average at each configuration of the state, fitted again. Times and
// epochs are averaged as logarithms: the average of how they change, whatever their size.
std::optional<Model> average_model(const SearchState& state,
                                   const std::vector<StoredModel>& store) {
  const double scale = scale_by_profiles(state, store);
  std::vector<TrainingRun> runs;
  for (const double workers : state.workers) {
    for (const double batch : state.batches) {
      const Sums sums = sums_at(store, workers, batch);
      if (sums.count == 0) continue;
      TrainingRun run;
      run.workers = workers;
      run.global_batch = batch;
      run.noise = sums.noise / sums.count;
      if (!state.job.theta) run.epochs = std::exp(sums.log_epochs / sums.count);
      run.iteration_s = scale * std::exp(sums.log_iteration_s / sums.count);
      runs.push_back(run);
    }
  }
  if (runs.empty()) return std::nullopt;
  return fit_model(runs, state.job, {});
}

}  // namespace

std::optional<StoredModel> model_for(const SearchState& state,
                                     const std::vector<StoredModel>& store) {
  const StoredModel* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const StoredModel& one : store) {
    const double apart = distance(state.job, one.model.job);
    if (apart >= least) continue;
    least = apart;
    nearest = &one;
  }
  if (nearest) return StoredModel{"store: " + nearest->name, nearest->model, false};
  auto average = average_model(state, store);
  if (!average) return std::nullopt;
  return StoredModel{fmt::format("average of {} stored models", store.size()), *average, true};
}

}  // namespace plumber
