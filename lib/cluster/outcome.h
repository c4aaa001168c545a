// SPDX-License-Identifier: Apache-2.0
// What training takes on K workers with global batch B on one machine type (Scavenger, Eq. 3 to 5):
//
//   epochs e(B)   iterations n = e D / B   iteration tau(K, b)   T = n tau   cost = T sum of prices
//
// An input pipeline that delivers r samples/s a machine bounds the iteration from below:
// tau >= b w / r with w workers on the machine. Spot machines are interrupted: each interruption
// costs a restart of all, T' = T (1 + lambda K restart). A worker's batch that its machine does not
// hold is computed in the fewest parts that it does (gradient accumulation), where that is allowed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/model.h"
#include "cluster/prices.h"

namespace plumber {

/// What the input pipeline delivers on a machine type.
struct InputRate {
  std::string machine;  // empty: on every type
  double samples_per_s = 0;
  bool at_most = false;  // the prediction is an upper bound
};

struct Spot {
  bool used = false;
  double interruptions_per_hour = 0;  // of one machine
  double restart_s = 0;
  bool from_runs = false;  // the interruptions are those that the runs counted
};

/// Everything around the workers.
struct Surroundings {
  std::vector<MachineType> machines;
  std::vector<InputRate> input;
  Spot spot;
  double parameter_servers = 0;  // 0: not priced, as in the paper
  double parameter_server_usd_per_hour = 0;
  double most_accumulation = 0;  // extra passes allowed where a worker's batch does not fit
  std::optional<double> workers_per_node;  // nullopt: its accelerators; of --price: as in the runs
};

enum class Limit { kInput, kCompute, kSynchronization };
std::string limit_word(Limit limit);  // "input", "compute", "synchronization"

struct Configuration {
  double workers = 1;
  double global_batch = 1;
  std::size_t machine = 0;  // index in Surroundings::machines
  bool operator==(const Configuration&) const = default;
};

struct Outcome {
  Configuration at;
  double nodes = 1;
  double epochs = 0;
  double iterations = 0;
  double accumulation = 0;  // extra passes of a worker's batch, see iteration_law.h
  IterationTime time;
  bool profiled = false;  // the time is that of runs with this configuration
  Determined determined = Determined::kByRuns;
  std::optional<double> input_s;  // that the input pipeline needs for one iteration
  double iteration_s = 0;         // the longer of both
  Limit limit = Limit::kCompute;
  double hours = 0;
  double usd_per_hour = 0;  // of all machines together
  double cost_usd = 0;
  std::optional<double> memory_bytes;  // of one worker, for one pass

  /// Times and costs are upper bounds: the runs do not determine them.
  bool at_most() const { return determined != Determined::kByRuns; }
};

/// What a configuration comes to, or the reason why it cannot be.
struct OutcomeOrReason {
  std::optional<Outcome> outcome;
  std::string why_not;
};

/// Why the job does not allow workers and batch, in so many extra passes at the most; empty if it
/// does.
std::string job_refusal(const Job& job, double workers, double global_batch,
                        double extra_passes = 0);

OutcomeOrReason outcome_of(const Model& model, const Surroundings& around, const Configuration& at);

}  // namespace plumber
