// SPDX-License-Identifier: Apache-2.0
// The laws that are linear in their coefficients: Scavenger's and Ernest's.
#include <cmath>

#include "cluster/iteration_fit.h"
#include "cluster/linear_fit.h"

namespace plumber {
namespace {

void add_coefficients(IterationModel& model, const LinearFit& fit,
                      const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    Coefficient one{names[i], fit.coefficients[i], std::nullopt};
    if (!fit.standard_errors.empty() && fit.standard_errors[i] > 0)
      one.standard_error = fit.standard_errors[i];
    model.coefficients.push_back(one);
  }
}

// One batch per worker says nothing of the constant: compute is taken as proportional to the batch.
std::optional<IterationModel> fit_one_batch(const std::vector<TrainingRun>& runs) {
  Matrix x;
  std::vector<double> y;
  for (const TrainingRun& run : runs) {
    if (std::abs(run.per_worker_batch() / runs[0].per_worker_batch() - 1) > 1e-9) return {};
    x.push_back({run.per_worker_batch(), run.workers});
    y.push_back(*run.iteration_s);
  }
  const auto fit = least_squares(x, y);
  if (!fit || runs.size() < 3) return std::nullopt;
  IterationModel model{IterationLaw::kScavenger, {{"d0", 0, {}}}, 0};
  add_coefficients(model, *fit, {"d1", "d2"});
  return model;
}

std::optional<IterationModel> fit_total(const std::vector<TrainingRun>& runs, std::string& why) {
  Matrix x;
  std::vector<double> y;
  for (const TrainingRun& run : runs) {
    x.push_back({1, run.per_worker_batch(), run.workers});
    y.push_back(*run.iteration_s);
  }
  const auto fit = least_squares(x, y);
  if (!fit) {
    why = "needs 3 points that differ in workers and in batch per worker";
    auto model = fit_one_batch(runs);
    if (model) why = "compute taken as proportional to the batch per worker, of which there is one";
    return model;
  }
  IterationModel model{IterationLaw::kScavenger, {}, 0};
  add_coefficients(model, *fit, {"d0", "d1", "d2"});
  return model;
}

// Compute against b and synchronisation against K, each where it was measured.
std::optional<IterationModel> fit_parts(const std::vector<TrainingRun>& runs, bool batch_term,
                                        std::string& why) {
  Matrix x_compute, x_sync;
  std::vector<double> compute, sync;
  for (const TrainingRun& run : runs) {
    if (!run.compute_s || !run.sync_s) continue;
    x_compute.push_back({1, run.per_worker_batch()});
    compute.push_back(*run.compute_s);
    x_sync.push_back({1, run.workers});
    if (batch_term) x_sync.back().push_back(run.global_batch);
    sync.push_back(*run.sync_s);
  }
  const auto compute_fit = least_squares(x_compute, compute);
  const auto sync_fit = least_squares(x_sync, sync);
  if (!compute_fit) {
    why = "compute needs two different batches per worker";
    return std::nullopt;
  }
  if (!sync_fit) {
    why = batch_term ? "synchronisation with its batch term needs 3 points that differ in both"
                     : "synchronisation needs two different numbers of workers";
    return std::nullopt;
  }
  IterationModel model{IterationLaw::kScavenger, {}, 0};
  add_coefficients(model, *compute_fit, {"c0", "c1"});
  std::vector<std::string> names{"s0", "s1"};
  if (batch_term) names.push_back("s2");
  add_coefficients(model, *sync_fit, names);
  return model;
}

}  // namespace

std::optional<IterationModel> fit_scavenger(const std::vector<TrainingRun>& runs,
                                            const IterationOptions& options, std::string& why) {
  std::size_t with_parts = 0;
  for (const TrainingRun& run : runs) with_parts += run.compute_s && run.sync_s ? 1 : 0;
  if (options.total_only || with_parts < 2) return fit_total(runs, why);
  return fit_parts(runs, options.batch_term, why);
}

std::optional<IterationModel> fit_ernest(const std::vector<TrainingRun>& runs, std::string& why) {
  Matrix x;
  std::vector<double> y;
  for (const TrainingRun& run : runs) {
    x.push_back({1, run.per_worker_batch(), std::log(run.workers), run.workers});
    y.push_back(*run.iteration_s);
  }
  const auto fit =
      least_squares(x, y) ? nonnegative_least_squares(x, y) : std::optional<LinearFit>();
  if (!fit) {
    why = "needs 4 points with three different numbers of workers";
    return std::nullopt;
  }
  IterationModel model{IterationLaw::kErnest, {}, 0};
  add_coefficients(model, *fit, {"t0", "t1", "t2", "t3"});
  return model;
}

}  // namespace plumber
