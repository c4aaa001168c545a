// SPDX-License-Identifier: Apache-2.0
// Runs and profiles of a data-parallel training job, one a row of a table:
//
//   workers        K
//   global_batch   samples, B = K b
//   nodes          machines that the workers share; absent: one worker a machine
//   iteration_s    one step of all workers; or compute_s and sync_s, its parts where measured
//   noise          SGD noise over K, 0..1; or mean_local_sqr_norm and aggregate_sqr_norm
//   epochs         passes over the data set until the target
//   restarts       interruptions during those epochs
//   machine        name of the machine type; absent: one type for all
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_member.h"
#include "cluster/table_file.h"

namespace plumber {

struct TrainingRun {
  std::string where;  // of the row, for errors
  double workers = 0;
  double global_batch = 0;
  std::optional<double> nodes;
  std::optional<double> iteration_s;
  std::optional<double> compute_s;
  std::optional<double> sync_s;
  std::optional<double> noise;
  std::optional<double> epochs;
  std::optional<double> restarts;
  std::string machine;

  double per_worker_batch() const { return global_batch / workers; }
};

std::vector<TrainingRun> read_runs(const InputTable& table);

/// The columns of runs, which are the members of a run in a search's state too.
const std::vector<std::string>& run_columns();

/// One run from its columns, each given as text.
TrainingRun run_of(const TableRow& row);

/// The same from a JSON object whose members are the columns.
TrainingRun run_at(const JsonMember& object);

using Range = std::pair<double, double>;  // least and greatest

}  // namespace plumber
