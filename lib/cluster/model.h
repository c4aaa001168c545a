// SPDX-License-Identifier: Apache-2.0
// All that is known of a job's scaling: what `cluster fit` finds and writes, and `cluster plan`
// reads. The runs stay with it, because the plan's uncertainty is found by fitting them again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/iteration_fit.h"
#include "cluster/job.h"
#include "cluster/statistics.h"

namespace plumber {

/// More workers bring no more samples a second, as with parameter servers.
struct Saturation {
  double workers = 0;             // the fewest that reach the plateau
  double per_worker_batch = 0;    // of the runs that show it
  double rate_samples_per_s = 0;  // the plateau's
  std::string machine;
};

struct ValidRange {
  Range workers{0, 0};
  Range global_batch{0, 0};
  Range per_worker_batch{0, 0};
  std::optional<Range> noise;
};

/// What iterations took at one configuration of the runs, against its law (geometric mean).
struct ProfiledTime {
  std::string machine;
  Placement at;
  double measured_to_law = 1;
};

/// What the runs counted of interruptions.
struct Interruptions {
  double restarts = 0;
  double machine_hours = 0;
  double per_machine_hour() const { return restarts / machine_hours; }
};

struct Model {
  Job job;
  std::optional<Line> noise;
  std::optional<EpochsFit> epochs;
  std::vector<IterationFit> iterations;  // one a machine type; at least one
  std::vector<Saturation> saturation;
  std::optional<Interruptions> interruptions;
  ValidRange valid;
  IterationOptions options;
  std::vector<TrainingRun> runs;
  std::vector<ProfiledTime> profiled;  // ascending; empty: laws alone, see add_profiled()
  double workers_per_node = 1;         // of the runs, see below
  std::vector<std::string> warnings;
};

/// The fit for a machine type: its own, else the one of all machines; nullptr without either.
const IterationFit* iteration_for(const Model& model, const std::string& machine);

/// From here on a configuration of the runs takes what was measured there, instead of what the law
/// says: a search knows what it has profiled, whereas a plan smooths over it.
void add_profiled(Model& model);

/// measured_to_law of a placement; nullptr when no run has it.
const ProfiledTime* profiled_at(const Model& model, const std::string& machine,
                                const Placement& at);

/// Workers that share a machine in the runs: the most of them; 1 without a column of nodes.
double workers_per_node(const std::vector<TrainingRun>& runs);

}  // namespace plumber
