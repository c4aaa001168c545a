// SPDX-License-Identifier: Apache-2.0
#include "cluster/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cluster/json_row.h"

namespace plumber {
namespace {

constexpr double kScatter = 0.05;  // of parts that were measured apart from the whole
constexpr double kSmallest = 1e-9, kLargest = 1e12;

[[noreturn]] void refuse(const std::string& where, const std::string& message,
                         const std::string& hint) {
  throw Error(ErrorKind::kInput, where, message, hint);
}

std::optional<double> not_negative(const TableRow& row, const std::string& column) {
  const auto number = number_in(row, column);
  if (number && *number < 0) {
    refuse(row.where(column), fmt::format("column '{}': {} is negative", column, *number),
           "leave the field empty where it is not known");
  }
  return number;
}

// Nothing that trains lies outside; what does would drown every other number.
void check_magnitudes(const TableRow& row) {
  for (const char* column :
       {"workers", "global_batch", "nodes", "iteration_s", "compute_s", "epochs"}) {
    const auto value = number_in(row, column);
    if (!value || (*value >= kSmallest && *value <= kLargest)) continue;
    refuse(row.where(column),
           fmt::format("column '{}': {:.4g} is beyond all measure", column, *value),
           "check its unit: times are in seconds");
  }
}

// A worker or a machine is there or not.
void check_whole(const TableRow& row) {
  for (const char* column : {"workers", "nodes"}) {
    const auto value = number_in(row, column);
    if (!value || *value == std::floor(*value)) continue;
    refuse(row.where(column), fmt::format("column '{}': {} is not a whole number", column, *value),
           "a mean over several runs is no run: give a row each");
  }
}

// Two of iteration, compute and synchronisation give the third.
void complete_times(TrainingRun& run, const TableRow& row) {
  if (!run.iteration_s && run.compute_s && run.sync_s)
    run.iteration_s = *run.compute_s + *run.sync_s;
  if (!run.iteration_s) return;
  // Both given: they may overlap, so their sum may exceed the whole, but neither may alone.
  const double longest = std::max(run.compute_s.value_or(0), run.sync_s.value_or(0));
  if (longest > *run.iteration_s * (1 + kScatter)) {
    refuse(row.where(run.compute_s == longest ? "compute_s" : "sync_s"),
           fmt::format("a part of the iteration takes {:.6g} s, the whole {:.6g} s", longest,
                       *run.iteration_s),
           "iteration_s is one step of all workers, its parts included");
  }
  if (run.compute_s && run.sync_s) return;
  if (run.compute_s) run.sync_s = *run.iteration_s - *run.compute_s;
  const double rest_s = *run.iteration_s - run.sync_s.value_or(0);
  if (!run.compute_s && run.sync_s && rest_s > 0) run.compute_s = rest_s;
  if (run.sync_s) run.sync_s = std::max(*run.sync_s, 0.0);
}

void take_noise(TrainingRun& run, const TableRow& row) {
  run.noise = optional_positive_in(row, "noise");
  const auto local = not_negative(row, "mean_local_sqr_norm");
  const auto aggregate = optional_positive_in(row, "aggregate_sqr_norm");
  if (!run.noise && local && aggregate) run.noise = *local / *aggregate / run.workers;
  if (run.noise && *run.noise > 1.05) {
    refuse(row.where("noise"), fmt::format("noise {:.6g} is above 1", *run.noise),
           "the column holds the noise divided by the number of workers");
  }
}

}  // namespace

TrainingRun run_of(const TableRow& row) {
  TrainingRun run;
  run.where = row.where();
  run.workers = positive_in(row, "workers");
  run.global_batch = positive_in(row, "global_batch");
  run.nodes = optional_positive_in(row, "nodes");
  run.iteration_s = optional_positive_in(row, "iteration_s");
  run.compute_s = optional_positive_in(row, "compute_s");
  run.sync_s = not_negative(row, "sync_s");
  run.epochs = optional_positive_in(row, "epochs");
  run.restarts = not_negative(row, "restarts");
  run.machine = text_in(row, "machine").value_or("");
  if (run.nodes && *run.nodes > run.workers) {
    refuse(row.where("nodes"), "more nodes than workers", "nodes are machines, not workers on one");
  }
  check_magnitudes(row);
  check_whole(row);
  complete_times(run, row);
  take_noise(run, row);
  return run;
}

TrainingRun run_at(const JsonMember& object) {
  try {
    return run_of(row_of(object, false));
  } catch (const Error&) {
    return run_of(row_of(object, true));  // refused again, at its place
  }
}

const std::vector<std::string>& run_columns() {
  static const std::vector<std::string> columns{"workers",
                                                "global_batch",
                                                "nodes",
                                                "iteration_s",
                                                "compute_s",
                                                "sync_s",
                                                "noise",
                                                "epochs",
                                                "restarts",
                                                "mean_local_sqr_norm",
                                                "aggregate_sqr_norm",
                                                "machine",
                                                "iterations",
                                                "noise_stable"};
  return columns;
}

std::vector<TrainingRun> read_runs(const InputTable& table) {
  for (const char* column : {"workers", "global_batch"}) require_column(table, column);
  std::vector<std::string> used = run_columns();  // the last two are of a search alone
  used.resize(used.size() - 2);
  refuse_misspelt(table, used);
  std::vector<TrainingRun> runs;
  for (const TableRow& row : table.rows) runs.push_back(run_of(row));
  return runs;
}

}  // namespace plumber
