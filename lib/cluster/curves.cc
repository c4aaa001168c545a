// SPDX-License-Identifier: Apache-2.0
#include "cluster/curves.h"

#include <cmath>
#include <set>

#include "cluster/plan.h"

namespace plumber {
namespace {

constexpr std::size_t kMostWorkers = 33;

std::vector<double> workers_of(const Model& model) {
  std::set<double> seen;
  for (const TrainingRun& run : model.runs) {
    if (run.iteration_s) seen.insert(run.workers);
  }
  const std::vector<double> all(seen.begin(), seen.end());
  if (all.size() <= kMostWorkers) return all;
  std::vector<double> some;
  for (std::size_t i = 0; i < kMostWorkers; ++i) {
    some.push_back(all[i * (all.size() - 1) / (kMostWorkers - 1)]);
  }
  return some;
}

}  // namespace

std::vector<CurvePoint> curves_of(const Model& model) {
  std::vector<CurvePoint> points;
  const double together = model.workers_per_node;
  const std::vector<double> batches = batch_grid(model, model.valid.global_batch);
  for (const IterationFit& fit : model.iterations) {
    for (const double workers : workers_of(model)) {
      for (const double batch : batches) {
        CurvePoint point{
            fit.machine, {workers, std::ceil(workers / together - 1e-9), batch, 0}, {}, {}, {}};
        if (model.noise) point.noise = noise_at(*model.noise, batch);
        if (model.epochs) point.epochs = epochs_at(*model.epochs, model.noise, batch);
        point.time = iteration_time(*fit.chosen.model, point.at);
        points.push_back(point);
      }
    }
  }
  return points;
}

}  // namespace plumber
