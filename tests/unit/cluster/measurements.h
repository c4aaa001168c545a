// SPDX-License-Identifier: Apache-2.0
// The published measurements of testdata/cluster as runs.
#pragma once

#include <string>
#include <vector>

#include "cluster/fit.h"

namespace plumber {

inline const std::vector<std::string> kPaperModels{"ResNet18", "ResNet50", "TransformerBase"};

inline InputTable measurements(const std::string& name) {
  return read_table(std::string(PLUMBER_TESTDATA_DIR) + "/cluster/" + name);
}

/// A run of the paper: what was profiled, and what the whole training took.
struct PaperRun {
  TrainingRun run;
  double hours = 0;
  double cost_usd = 0;
  double samples = 0;
};

inline std::vector<PaperRun> paper_runs(const std::string& model) {
  std::vector<PaperRun> runs;
  for (const TableRow& row : measurements("paper_runs.csv").rows) {
    if (row.cell("model")->text != model) continue;
    PaperRun one;
    one.run.workers = positive_in(row, "K");
    one.run.global_batch = positive_in(row, "B");
    one.run.epochs = number_in(row, "epochs_fig8");
    one.run.noise = number_in(row, "norm_noise_fig9");
    one.run.iteration_s = number_in(row, "tau_implied_s");
    one.hours = positive_in(row, "T_hours_fig10");
    one.cost_usd = positive_in(row, "cost_usd_TKp");
    one.samples = positive_in(row, "D");
    runs.push_back(one);
  }
  return runs;
}

inline std::vector<TrainingRun> profiled(const std::vector<PaperRun>& runs) {
  std::vector<TrainingRun> result;
  for (const PaperRun& one : runs) {
    if (one.run.iteration_s) result.push_back(one.run);
  }
  return result;
}

/// What partial search sees: noise at the two extreme batches for every K, and iteration times at
/// the four corners. How epochs follow noise is known of earlier runs: job_of_earlier_runs().
inline std::vector<TrainingRun> partial_search(const std::vector<PaperRun>& runs) {
  const std::vector<TrainingRun> all = profiled(runs);
  const double b_min = all.front().global_batch, b_max = all.back().global_batch;
  const double k_min = all.front().workers, k_max = all.back().workers;
  std::vector<TrainingRun> seen;
  for (TrainingRun run : all) {
    if (run.global_batch != b_min && run.global_batch != b_max) continue;
    run.epochs.reset();
    if (run.workers != k_min && run.workers != k_max) run.iteration_s.reset();
    seen.push_back(run);
  }
  return seen;
}

inline Job job_of_earlier_runs(const std::vector<PaperRun>& runs) {
  const std::vector<TrainingRun> all = profiled(runs);
  const Line line = fit_epochs(all, fit_noise(all))->line;
  Job job;
  job.samples = runs.front().samples;
  job.e_star = line.intercept;
  job.theta = line.slope;
  return job;
}

}  // namespace plumber
