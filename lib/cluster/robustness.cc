// SPDX-License-Identifier: Apache-2.0
// How far the plan hangs on the runs' scatter: a residual bootstrap. Each replicate takes the
// fitted values of all runs, adds residuals drawn from their own (stretched by sqrt(n / (n - p)),
// because fitted residuals are too small), fits the same laws again and chooses again. Where a fit
// leaves no residual, 3 % of scatter is assumed.
//
// The draws come from mt19937_64, which the standard defines to the bit, by modulo; the standard's
// distributions differ from library to library.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/error.h"
#include "cluster/plan.h"

namespace plumber {
namespace {

constexpr std::uint64_t kSeed = 20230303;
constexpr double kAssumedScatter = 0.03;
constexpr std::size_t kMostEvaluations = 2000000;
constexpr int kFewestReplicates = 20;

using Draws = std::mt19937_64;

double drawn(const std::vector<double>& residuals, Draws& draws) {
  return residuals[static_cast<std::size_t>(draws() % residuals.size())];
}

bool all_zero(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::abs(value) < 1e-9; });
}

// Relative residuals of y against fitted, stretched; symmetric assumed ones where there are none.
std::vector<double> relative_residuals(const std::vector<double>& y,
                                       const std::vector<double>& fitted,
                                       std::size_t coefficients) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < y.size(); ++i) residuals.push_back(y[i] / fitted[i] - 1);
  if (y.size() <= coefficients || all_zero(residuals)) {
    return {-kAssumedScatter, 0, kAssumedScatter};
  }
  const auto n = static_cast<double>(y.size());
  const double stretch = std::sqrt(n / (n - static_cast<double>(coefficients)));
  for (double& value : residuals) value *= stretch;
  return residuals;
}

// What the laws say of each run, and how far they miss: made once.
struct Scatter {
  std::map<std::string, std::vector<double>> iteration;  // by machine
  std::vector<double> noise;
  std::vector<double> epochs;
};

Scatter scatter_of(const Model& model) {
  Scatter scatter;
  for (const IterationFit& fit : model.iterations) {
    std::vector<double> y, fitted;
    for (const TrainingRun& run : model.runs) {
      if (!run.iteration_s || run.machine != fit.machine) continue;
      y.push_back(*run.iteration_s);
      fitted.push_back(iteration_time(*fit.chosen.model, placement_of(run)).iteration_s);
    }
    scatter.iteration[fit.machine] =
        relative_residuals(y, fitted, fit.chosen.model->coefficients.size());
  }
  std::vector<double> noise, noise_line, epochs, epochs_line;
  for (const TrainingRun& run : model.runs) {
    if (run.noise && model.noise) {
      noise.push_back(*run.noise);
      noise_line.push_back(noise_at(*model.noise, run.global_batch));
    }
    if (!run.epochs) continue;
    epochs.push_back(*run.epochs);
    epochs_line.push_back(epochs_of_run(*model.epochs, model.noise, run));
  }
  scatter.noise = relative_residuals(noise, noise_line, 2);
  scatter.epochs = relative_residuals(epochs, epochs_line, 2);
  return scatter;
}

std::vector<TrainingRun> drawn_runs(const Model& model, const Scatter& scatter, Draws& draws) {
  std::vector<TrainingRun> runs = model.runs;
  for (TrainingRun& run : runs) {
    if (run.iteration_s) {
      const IterationFit* fit = iteration_for(model, run.machine);
      const double fitted = iteration_time(*fit->chosen.model, placement_of(run)).iteration_s;
      const double factor =
          fitted / *run.iteration_s * (1 + drawn(scatter.iteration.at(fit->machine), draws));
      run.iteration_s = *run.iteration_s * factor;
      if (run.compute_s) run.compute_s = *run.compute_s * factor;
      if (run.sync_s) run.sync_s = *run.sync_s * factor;
    }
    if (run.epochs) {
      run.epochs =
          epochs_of_run(*model.epochs, model.noise, run) * (1 + drawn(scatter.epochs, draws));
    }
  }
  return runs;
}

// The model with its laws fitted to other runs; false when they do not determine it.
bool refit(Model& model, const std::vector<TrainingRun>& runs) {
  for (IterationFit& fit : model.iterations) {
    std::vector<TrainingRun> own;
    for (const TrainingRun& run : runs) {
      if (run.iteration_s && run.machine == fit.machine) own.push_back(run);
    }
    std::string why;
    const double update_s = fit.chosen.model->update_s;
    IterationOptions options = model.options;
    options.near = fit.chosen.model;
    fit.chosen.model = fit_only(fit.chosen.law, own, options, why);
    if (!fit.chosen.model) return false;
    fit.chosen.model->update_s = update_s;
  }
  return true;
}

// The noise line from noise drawn anew, the line of epochs at the noise that was measured: were
// both drawn, scatter of x would flatten the line.
void refit_epochs(Model& model, const std::vector<TrainingRun>& runs, const Scatter& scatter,
                  Draws& draws) {
  std::vector<TrainingRun> noisy = runs;
  for (TrainingRun& run : noisy) {
    if (!run.noise) continue;
    run.noise = noise_at(*model.noise, run.global_batch) * (1 + drawn(scatter.noise, draws));
  }
  try {
    if (!model.epochs->given) model.epochs = fit_epochs(runs, model.noise);
    if (model.noise) model.noise = fit_noise(noisy);
  } catch (const Error&) {
    // A draw without a sensible line keeps the fitted one.
  }
}

// The model without what no replicate needs: each starts from a copy of it.
Model laws_of(const Model& model) {
  Model laws = model;
  laws.runs.clear();
  laws.warnings.clear();
  for (IterationFit& fit : laws.iterations) {
    fit.compared.clear();
    fit.chosen.residuals_s.clear();
  }
  return laws;
}

// One replicate; nullopt when its runs do not determine the laws.
std::optional<Model> drawn_model(const Model& model, const Model& laws, const Scatter& scatter,
                                 Draws& draws) {
  std::vector<TrainingRun> runs = drawn_runs(model, scatter, draws);
  std::optional<Model> other = laws;
  if (!refit(*other, runs)) return std::nullopt;
  refit_epochs(*other, runs, scatter, draws);
  return other;
}

// Every replicate evaluates the whole grid: of a large one fewer are affordable.
int affordable_replicates(const PlanRequest& request) {
  const std::size_t grid =
      request.workers.size() * request.batches.size() * request.around.machines.size();
  const auto most = static_cast<int>(kMostEvaluations / std::max<std::size_t>(grid, 1));
  return std::min(request.replicates, std::max(most, kFewestReplicates));
}

Range quantiles(std::vector<double> values) {
  if (values.empty()) return {0, 0};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.05), at(0.95)};
}

std::vector<WinShare> shares_of(const std::vector<Configuration>& wins) {
  std::vector<WinShare> shares;
  for (const Configuration& at : wins) {
    const auto known = std::find_if(shares.begin(), shares.end(),
                                    [&](const WinShare& one) { return one.at == at; });
    const double weight = 1 / static_cast<double>(wins.size());
    if (known == shares.end()) {
      shares.push_back({at, weight});
    } else {
      known->share += weight;
    }
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const WinShare& a, const WinShare& b) { return a.share > b.share; });
  return shares;
}

}  // namespace

Robustness robustness_of(const Model& model, const PlanRequest& request, const Outcome& choice) {
  Draws draws(kSeed);
  const Scatter scatter = scatter_of(model);
  const int replicates = affordable_replicates(request);
  std::vector<double> hours, cost, epochs, iteration;
  std::vector<Configuration> wins;
  const Model laws = laws_of(model);
  for (int i = 0; i < replicates; ++i) {
    const auto drawn = drawn_model(model, laws, scatter, draws);
    if (!drawn) continue;
    const Model& other = *drawn;
    const auto same = outcome_of(other, request.around, choice.at).outcome;
    if (!same) continue;
    hours.push_back(same->hours);
    cost.push_back(same->cost_usd);
    epochs.push_back(same->epochs);
    iteration.push_back(same->iteration_s);
    if (const auto winner = best_of(other, request)) wins.push_back(winner->at);
  }
  return {quantiles(hours),     quantiles(cost), quantiles(epochs),
          quantiles(iteration), shares_of(wins), static_cast<int>(hours.size())};
}

std::vector<std::vector<double>> replicate_values(const Model& model, const PlanRequest& request,
                                                  const std::vector<Outcome>& candidates) {
  Draws draws(kSeed);
  const Scatter scatter = scatter_of(model);
  const int replicates = affordable_replicates(request);
  const Model laws = laws_of(model);
  std::vector<std::vector<double>> all;
  for (int i = 0; i < replicates; ++i) {
    const auto other = drawn_model(model, laws, scatter, draws);
    if (!other) continue;
    std::vector<double> values;
    for (const Outcome& one : candidates) {
      const auto outcome = outcome_of(*other, request.around, one.at).outcome.value_or(one);
      values.push_back(objective_value(outcome, request.objective));
    }
    all.push_back(values);
  }
  return all;
}

}  // namespace plumber
