// SPDX-License-Identifier: Apache-2.0
#include "cluster/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_format.h"

namespace plumber {
namespace {

constexpr double kFarBeyond = 2;  // times outside of the range of the runs: no model holds there

std::optional<std::string> out_of_range(const char* name, double value, const Range& range) {
  if (value <= kFarBeyond * range.second && value >= range.first / kFarBeyond) return std::nullopt;
  return fmt::format("far outside of the runs: {} {:.6g}, seen {:.6g} to {:.6g}", name, value,
                     range.first, range.second);
}

double workers_on(const Model& model, const Surroundings& around, const MachineType& machine) {
  if (around.workers_per_node) return *around.workers_per_node;
  return machine.name.empty() ? model.workers_per_node : machine.workers;
}

std::optional<double> input_time_s(const Surroundings& around, const Outcome& outcome) {
  const std::string& name = around.machines[outcome.at.machine].name;
  const double samples = outcome.at.global_batch / outcome.nodes;  // on one machine
  for (const InputRate& rate : around.input) {
    if (rate.machine == name || rate.machine.empty()) return samples / rate.samples_per_s;
  }
  return std::nullopt;
}

// The law's time, or that of the profiles of this very configuration.
void add_iteration(const Model& model, const IterationFit& fit, const Surroundings& around,
                   Outcome& outcome) {
  const IterationModel& law = *fit.chosen.model;
  const Placement placement{outcome.at.workers, outcome.nodes, outcome.at.global_batch,
                            outcome.accumulation};
  outcome.determined = determined(law, placement);
  outcome.time = iteration_time(law, placement);
  const bool whole = outcome.accumulation == 0;
  if (const auto* own = whole ? profiled_at(model, fit.machine, placement) : nullptr) {
    outcome.profiled = true;
    for (double* time_s :
         {&outcome.time.compute_s, &outcome.time.sync_s, &outcome.time.iteration_s}) {
      *time_s *= own->measured_to_law;
    }
  }
  outcome.input_s = input_time_s(around, outcome);
  outcome.iteration_s = std::max(outcome.time.iteration_s, outcome.input_s.value_or(0));
  outcome.limit =
      outcome.time.compute_s >= outcome.time.sync_s ? Limit::kCompute : Limit::kSynchronization;
  if (outcome.input_s && *outcome.input_s >= outcome.time.iteration_s) {
    outcome.limit = Limit::kInput;
  }
}

void add_cost(const Surroundings& around, double machine_usd_per_hour, Outcome& outcome) {
  const MachineType& machine = around.machines[outcome.at.machine];
  const double machines = std::ceil(outcome.at.workers / machine.workers - 1e-9);
  double seconds = outcome.iterations * outcome.iteration_s;
  if (around.spot.used) {
    seconds *= 1 + around.spot.interruptions_per_hour * machines * around.spot.restart_s / 3600;
  }
  outcome.hours = seconds / 3600;
  outcome.usd_per_hour = machines * machine_usd_per_hour +
                         around.parameter_servers * around.parameter_server_usd_per_hour;
  outcome.cost_usd = billed_s(seconds) / 3600 * outcome.usd_per_hour;
}

std::string not_seen(double nodes) {
  return nodes > 1 ? fmt::format("on {:.6g} machines, and no run is on more than one", nodes)
                   : "several workers, and every run has one";
}

std::string no_price(const MachineType& machine, const Surroundings& around,
                     const Outcome& outcome) {
  if (around.spot.used && !machine.usd_per_hour_spot) return "no spot price";
  if (outcome.memory_bytes) {
    const double together = std::min(machine.workers, outcome.at.workers);
    return fmt::format(
        "{} {}, more than the machine has",
        together > 1 ? fmt::format("{:.6g} workers need", together) : "a worker needs",
        format_bytes(*outcome.memory_bytes * together));
  }
  return machine.custom ? "priced by memory, and the job does not say what a sample needs"
                        : "no price";
}

// Dollars an hour of a machine that holds its workers, in as few passes as it can; nullopt when it
// holds them in none, or has no such price.
std::optional<double> price_in_passes(const Model& model, const Surroundings& around,
                                      Outcome& outcome) {
  const MachineType& machine = around.machines[outcome.at.machine];
  const double batch = outcome.at.global_batch / outcome.at.workers;
  const double most = model.job.max_per_worker_batch.value_or(batch);
  for (double extra = std::max(std::ceil(batch / most - 1e-9), 1.0) - 1;
       extra <= around.most_accumulation; ++extra) {
    if (extra > 0 && batch / (extra + 1) < 1) break;
    outcome.accumulation = extra;
    outcome.memory_bytes = worker_memory_bytes(model.job, batch / (extra + 1));
    std::optional<double> machine_bytes;
    if (outcome.memory_bytes) {
      machine_bytes = *outcome.memory_bytes * std::min(machine.workers, outcome.at.workers);
    }
    const auto price = usd_per_hour(machine, machine_bytes, around.spot.used);
    if (price || !outcome.memory_bytes) return price;
  }
  return std::nullopt;
}

std::optional<std::string> refusal(const Model& model, const Surroundings& around,
                                   const Configuration& at) {
  const std::string why =
      job_refusal(model.job, at.workers, at.global_batch, around.most_accumulation);
  if (!why.empty()) return why;
  if (auto far = out_of_range("workers", at.workers, model.valid.workers)) return far;
  return out_of_range("batch", at.global_batch, model.valid.global_batch);
}

}  // namespace

std::string limit_word(Limit limit) {
  switch (limit) {
    case Limit::kInput:
      return "input";
    case Limit::kCompute:
      return "compute";
    case Limit::kSynchronization:
      return "synchronization";
  }
  return "";
}

std::string job_refusal(const Job& job, double workers, double global_batch, double extra_passes) {
  if (global_batch < workers) return "less than one sample a worker";
  if (job.min_batch && global_batch < *job.min_batch) {
    return fmt::format("below the job's smallest sensible batch, {:.6g}", *job.min_batch);
  }
  if (job.max_batch && global_batch > *job.max_batch) {
    return fmt::format("above the job's largest batch, {:.6g}", *job.max_batch);
  }
  const double batch = global_batch / workers;
  if (job.max_per_worker_batch && batch > *job.max_per_worker_batch * (1 + extra_passes)) {
    return fmt::format("{:.6g} samples a worker, at most {:.6g} fit", batch,
                       *job.max_per_worker_batch);
  }
  return "";
}

OutcomeOrReason outcome_of(const Model& model, const Surroundings& around,
                           const Configuration& at) {
  if (const auto why = refusal(model, around, at)) return {std::nullopt, *why};
  const MachineType& machine = around.machines[at.machine];
  const IterationFit* fit = iteration_for(model, machine.name);
  if (!fit) return {std::nullopt, "no run on this machine type"};
  Outcome outcome;
  outcome.at = at;
  const double together = workers_on(model, around, machine);
  outcome.nodes = std::ceil(at.workers / together - 1e-9);
  outcome.epochs = epochs_at(*model.epochs, model.noise, at.global_batch);
  if (outcome.epochs <= 0) {
    return {std::nullopt, fmt::format("the line of epochs gives {:.4g} there", outcome.epochs)};
  }
  outcome.iterations = outcome.epochs * *model.job.samples / at.global_batch;
  const auto price = price_in_passes(model, around, outcome);
  if (!price) return {std::nullopt, no_price(machine, around, outcome)};
  add_iteration(model, *fit, around, outcome);
  if (outcome.determined == Determined::kNot) return {std::nullopt, not_seen(outcome.nodes)};
  if (!(outcome.iteration_s > 0)) return {std::nullopt, "the iteration's law gives no time there"};
  add_cost(around, *price, outcome);
  if (!std::isfinite(outcome.cost_usd) || !std::isfinite(outcome.hours))
    return {std::nullopt, "takes for ever"};
  return {outcome, ""};
}

}  // namespace plumber
