// SPDX-License-Identifier: Apache-2.0
#include "cluster/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"

namespace plumber {
namespace {

constexpr double kSuperLinear = 1.02;  // above measurement's own scatter
constexpr double kSameRate = 0.95;     // as the mean of what follows
constexpr double kPlateau = 0.5;       // of what a worker brings at first

void widen(Range& range, double value) {
  if (range.first == 0) range = {value, value};
  range = {std::min(range.first, value), std::max(range.second, value)};
}

ValidRange valid_range(const std::vector<TrainingRun>& runs) {
  ValidRange valid;
  for (const TrainingRun& run : runs) {
    widen(valid.global_batch, run.global_batch);
    if (run.iteration_s) {  // a run that only tells epochs says nothing of its placement
      widen(valid.workers, run.workers);
      widen(valid.per_worker_batch, run.per_worker_batch());
    }
    if (!run.noise) continue;
    if (!valid.noise) valid.noise = Range{*run.noise, *run.noise};
    widen(*valid.noise, *run.noise);
  }
  return valid;
}

std::map<std::string, std::vector<TrainingRun>> by_machine(const std::vector<TrainingRun>& runs) {
  std::map<std::string, std::vector<TrainingRun>> groups;
  for (const TrainingRun& run : runs) {
    if (run.iteration_s) groups[run.machine].push_back(run);
  }
  return groups;
}

// What the job file says of earlier runs, where these runs say nothing.
std::optional<EpochsFit> given_epochs(const Job& job) {
  if (!job.theta) return std::nullopt;
  EpochsFit fit;
  fit.given = true;
  fit.line.intercept = job.e_star.value_or(0);
  fit.line.slope = *job.theta;
  return fit;
}

void warn_of_slopes(Model& model, const IterationFit& fit) {
  for (const Coefficient& one : fit.chosen.model->coefficients) {
    if (one.value >= 0 || (one.name != "d1" && one.name != "d2" && one.name != "c1" &&
                           one.name != "s1" && one.name != "s2")) {
      continue;
    }
    model.warnings.push_back(fmt::format(
        "iteration time: coefficient {} is negative ({:.4g}): {}", one.name, one.value,
        one.name == "d2" || one.name == "s1" ? "more workers seem to synchronise faster"
                                             : "larger batches seem to compute faster"));
  }
}

void warn_of_super_linear(Model& model) {
  for (const TrainingRun& few : model.runs) {
    for (const TrainingRun& many : model.runs) {
      const bool comparable = few.iteration_s && many.iteration_s &&
                              few.global_batch == many.global_batch &&
                              few.machine == many.machine && many.workers > few.workers;
      if (!comparable) continue;
      const double speedup = *few.iteration_s / *many.iteration_s;
      const double ratio = many.workers / few.workers;
      if (speedup <= kSuperLinear * ratio) continue;
      model.warnings.push_back(fmt::format(
          "super-linear scaling at batch {:.6g}: {:.4g} to {:.4g} workers run {:.3g} times as fast",
          few.global_batch, few.workers, many.workers, speedup));
    }
  }
}

void warn_of_epochs(Model& model) {
  if (!model.epochs) {
    model.warnings.push_back(
        "no run has epochs and the job file no theta: the model cannot be planned with");
    return;
  }
  const EpochsFit& epochs = *model.epochs;
  if (epochs.calibrated) {
    model.warnings.push_back(
        epochs.law == EpochsLaw::kNoise
            ? "epochs of one configuration alone: taken as proportional to noise (e_star = 0), "
              "which compares configurations but predicts absolute times badly"
            : "epochs of one batch alone: taken as the same for every batch");
  }
  if (epochs.line.intercept < 0) {
    model.warnings.push_back(fmt::format(
        "e_star is negative ({:.4g}): the line of epochs holds only for the noise that was seen",
        epochs.line.intercept));
  }
  if (epochs.law == EpochsLaw::kNoise && epochs.line.slope < 0) {
    model.warnings.push_back("epochs fall with noise here: the runs contradict the law");
  }
}

void use_saturation(Model& model) {
  for (const Saturation& one : model.saturation) {
    model.warnings.push_back(fmt::format(
        "saturated: beyond {:.4g} workers of {:.4g} samples the rate stays at about {:.4g} "
        "samples/s",
        one.workers, one.per_worker_batch, one.rate_samples_per_s));
    for (IterationFit& fit : model.iterations) {
      if (fit.machine != one.machine) continue;
      fit.chosen.model->update_s = one.per_worker_batch / one.rate_samples_per_s;
    }
  }
}

// The first point that the mean of all from it on hardly exceeds; the last one when all grow.
std::size_t start_of_plateau(const std::vector<double>& rates) {
  for (std::size_t at = 0; at + 1 < rates.size(); ++at) {
    double sum = 0;
    for (std::size_t i = at; i < rates.size(); ++i) sum += rates[i];
    if (rates[at] >= kSameRate * sum / static_cast<double>(rates.size() - at)) return at;
  }
  return rates.size() - 1;
}

std::optional<Saturation> saturation_of(std::vector<TrainingRun> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const TrainingRun& a, const TrainingRun& b) { return a.workers < b.workers; });
  std::vector<double> workers, rates;
  for (const TrainingRun& run : runs) {
    if (!workers.empty() && workers.back() == run.workers) continue;
    workers.push_back(run.workers);
    rates.push_back(run.global_batch / *run.iteration_s);
  }
  if (workers.size() < 4) return std::nullopt;
  const std::size_t at = start_of_plateau(rates);
  if (at == 0 || at + 1 >= rates.size()) return std::nullopt;
  const double first = rates[0] / workers[0];
  const double beyond = (rates.back() - rates[at]) / (workers.back() - workers[at]);
  if (beyond > kPlateau * first) return std::nullopt;
  return Saturation{workers[at], runs[0].per_worker_batch(),
                    *std::max_element(rates.begin(), rates.end()), runs[0].machine};
}

}  // namespace

const IterationFit* iteration_for(const Model& model, const std::string& machine) {
  const IterationFit* any = nullptr;
  for (const IterationFit& fit : model.iterations) {
    if (fit.machine == machine) return &fit;
    if (fit.machine.empty()) any = &fit;
  }
  return any;
}

double workers_per_node(const std::vector<TrainingRun>& runs) {
  double most = 1;
  for (const TrainingRun& run : runs) {
    if (run.nodes) most = std::max(most, std::ceil(run.workers / *run.nodes - 1e-9));
  }
  return most;
}

std::vector<Saturation> find_saturation(const std::vector<TrainingRun>& runs) {
  std::map<std::pair<std::string, long>, std::vector<TrainingRun>> groups;  // b in thousandths
  for (const TrainingRun& run : runs) {
    if (!run.iteration_s) continue;
    groups[{run.machine, std::lround(run.per_worker_batch() * 1000)}].push_back(run);
  }
  std::vector<Saturation> found;
  for (const auto& [key, group] : groups) {
    if (const auto one = saturation_of(group)) found.push_back(*one);
  }
  return found;
}

Model fit_model(const std::vector<TrainingRun>& runs, const Job& job,
                const IterationOptions& options) {
  if (runs.empty()) throw Error(ErrorKind::kInput, "", "no runs to fit");
  Model model;
  model.job = job;
  model.runs = runs;
  model.options = options;
  model.valid = valid_range(runs);
  for (const std::string& key : job.unknown) {
    model.warnings.push_back("the job file's member '" + key + "' is not known and not used");
  }
  model.noise = fit_noise(runs);
  model.epochs = fit_epochs(runs, model.noise);
  if (!model.epochs && model.noise) model.epochs = given_epochs(job);
  const auto machines = by_machine(runs);
  if (machines.empty()) fit_iteration(runs, options);  // refuses with the reason
  for (const auto& [machine, group] : machines) {
    model.iterations.push_back(fit_iteration(group, options));
    model.iterations.back().machine = machine;
    warn_of_slopes(model, model.iterations.back());
  }
  warn_of_super_linear(model);
  warn_of_epochs(model);
  model.saturation = find_saturation(runs);
  use_saturation(model);
  return model;
}

}  // namespace plumber
