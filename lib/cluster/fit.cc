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
constexpr std::size_t kMostWarned = 5;

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

// The pair of runs of one batch whose scaling beats the number of workers the most.
struct Scaling {
  const TrainingRun* few = nullptr;
  const TrainingRun* many = nullptr;
  double ratio = 1;  // of the worker seconds of an iteration
};

double worker_seconds(const TrainingRun& run) { return *run.iteration_s * run.workers; }

// `runs` by workers, ascending.
Scaling best_scaling(const std::vector<const TrainingRun*>& runs) {
  Scaling best;
  const TrainingRun* dearest = nullptr;
  for (const TrainingRun* run : runs) {
    const bool more = dearest && run->workers > dearest->workers;
    const double ratio = more ? worker_seconds(*dearest) / worker_seconds(*run) : 0;
    if (ratio > best.ratio) best = {dearest, run, ratio};
    if (!dearest || worker_seconds(*run) > worker_seconds(*dearest)) dearest = run;
  }
  return best;
}

void warn_of_super_linear(Model& model) {
  std::map<std::pair<std::string, double>, std::vector<const TrainingRun*>> groups;
  for (const TrainingRun& run : model.runs) {
    if (run.iteration_s) groups[{run.machine, run.global_batch}].push_back(&run);
  }
  std::size_t found = 0;
  for (auto& [key, runs] : groups) {
    std::stable_sort(runs.begin(), runs.end(), [](const TrainingRun* a, const TrainingRun* b) {
      return a->workers < b->workers;
    });
    const Scaling best = best_scaling(runs);
    if (best.ratio <= kSuperLinear || ++found > kMostWarned) continue;
    model.warnings.push_back(
        fmt::format("super-linear scaling at batch {:.6g}: {:.4g} to {:.4g} workers run {:.3g} "
                    "times as fast",
                    key.second, best.few->workers, best.many->workers,
                    *best.few->iteration_s / *best.many->iteration_s));
  }
  if (found > kMostWarned) {
    model.warnings.push_back(
        fmt::format("super-linear scaling at {} further batches", found - kMostWarned));
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
    model.warnings.push_back(
        "epochs fall with noise here: the runs contradict the law; measure more of them to one "
        "target, or leave noise out of the runs: epochs then follow the batch");
  }
}

void use_saturation(Model& model) {
  for (const Saturation& one : model.saturation) {
    model.warnings.push_back(fmt::format(
        "saturated: from {:.4g} workers of {:.4g} samples on the rate stays at about {:.4g} "
        "samples/s",
        one.workers, one.per_worker_batch, one.rate_samples_per_s));
    for (IterationFit& fit : model.iterations) {
      if (fit.machine != one.machine) continue;
      fit.chosen.model->update_s = one.per_worker_batch / one.rate_samples_per_s;
    }
  }
}

// Interruptions a machine and hour, by the runs that counted them: their hours are e D tau / B.
std::optional<Interruptions> interruptions_of(const Model& model) {
  Interruptions seen;
  for (const TrainingRun& run : model.runs) {
    const IterationFit* fit = iteration_for(model, run.machine);
    if (!run.restarts || !run.epochs || !model.job.samples || !fit) continue;
    const double iteration_s =
        run.iteration_s ? *run.iteration_s
                        : iteration_time(*fit->chosen.model, placement_of(run)).iteration_s;
    const double iterations = *run.epochs * *model.job.samples / run.global_batch;
    seen.restarts += *run.restarts;
    seen.machine_hours += iterations * iteration_s / 3600 * placement_of(run).nodes;
  }
  if (seen.machine_hours <= 0) return std::nullopt;
  return seen;
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

Model fit_model(const std::vector<TrainingRun>& all_runs, const Job& job,
                const IterationOptions& options) {
  if (all_runs.empty()) {
    throw Error(ErrorKind::kInput, "", "no runs to fit", "give a row a profile or finished run");
  }
  Model model;
  model.job = job;
  model.runs = enough_of(all_runs);
  const std::vector<TrainingRun>& runs = model.runs;
  if (runs.size() < all_runs.size()) {
    model.warnings.push_back(
        fmt::format("{} of {} runs are used, evenly chosen from each configuration", runs.size(),
                    all_runs.size()));
  }
  model.options = options;
  model.workers_per_node = workers_per_node(runs);
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
  model.interruptions = interruptions_of(model);
  return model;
}

}  // namespace plumber
