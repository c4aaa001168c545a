// SPDX-License-Identifier: Apache-2.0
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

// The mean of what all stored models say, at each configuration of the state, fitted again.
std::optional<Model> average_model(const SearchState& state,
                                   const std::vector<StoredModel>& store) {
  std::vector<TrainingRun> runs;
  for (const double workers : state.workers) {
    for (const double batch : state.batches) {
      TrainingRun run;
      run.workers = workers;
      run.global_batch = batch;
      double noise = 0, epochs = 0, iteration_s = 0, count = 0;
      for (const StoredModel& one : store) {
        const Model& model = one.model;
        if (!model.noise || !model.epochs) continue;
        const IterationModel& law = *model.iterations[0].chosen.model;
        noise += noise_at(*model.noise, batch);
        epochs += epochs_at(*model.epochs, model.noise, batch);
        iteration_s += iteration_time(law, {workers, workers, batch}).iteration_s;
        count += 1;
      }
      if (count == 0) return std::nullopt;
      run.noise = noise / count;
      run.epochs = epochs / count;
      run.iteration_s = iteration_s / count;
      runs.push_back(run);
    }
  }
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
  if (nearest) return StoredModel{"store: " + nearest->name, nearest->model};
  auto average = average_model(state, store);
  if (!average) return std::nullopt;
  return StoredModel{fmt::format("average of {} stored models", store.size()), *average};
}

}  // namespace plumber
