// SPDX-License-Identifier: Apache-2.0
// Squared gradient norms a step, from the logs that training programs leave:
//
//   a table (CSV, JSON lines)   step, workers, mean_local_sqr_norm, aggregate_sqr_norm and, where
//                               known, global_batch, learning_rate; or step, workers, noise (raw)
//   lines among other output    local_worker_norm_sqr 12.5 globalstep 7     one line a worker
//                               aggregated_norm_sqr 8.0 globalstep 7
//   the same, summed            adascale_sum 50.0 glob_step 7 agg_ADASCALE 8.0 glob_step 7
//   a window file               7,8.0       step and aggregated squared norm, no header
//
// Several files of one run are merged by step, because workers log apart from their chief.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plumber {

struct NormStep {
  double step = 0;
  double workers = 0;              // K
  double mean_local_sqr_norm = 0;  // (1/K) sum over workers of |g_k|^2
  double aggregate_sqr_norm = 0;   // |g~|^2
  std::optional<double> noise;     // raw, when the log has it and no norms
  std::optional<double> global_batch;
  std::optional<double> learning_rate;
};

struct LogText {
  std::string name;
  std::string text;
};

/// Steps ascending. `workers` stands in where a log does not say K; Error(kInput) when neither
/// does, or when a norm is negative or the aggregate is zero.
std::vector<NormStep> read_norms(const std::vector<LogText>& logs,
                                 std::optional<double> workers = std::nullopt);

}  // namespace plumber
