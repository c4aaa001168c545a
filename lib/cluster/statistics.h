// SPDX-License-Identifier: Apache-2.0
// Statistical efficiency: how many epochs a global batch B needs (Scavenger, Eq. 6 and 7).
//
//   noise    gamma/K = intercept + slope / sqrt(B)   least squares on the mean over K at each B
//   epochs   e = e_star + theta x, pooled over all runs, with x the noise (law "noise") or, where
//            no noise was measured, B itself (law "batch": McCandlish's e_min (1 + B / B_crit))
//
// e_star is the epochs of noiseless descent only by name: it is often negative, and the line holds
// inside the range of x that was seen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/runs.h"

namespace plumber {

struct Line {
  double intercept = 0;
  double slope = 0;
  double r2 = 0;
  std::vector<double> standard_errors;  // of intercept and slope; empty for a line through 2 points
  std::optional<double> leave_one_out;  // mean relative error at a point left out
  std::vector<double> residuals;
  std::size_t points = 0;
  Range range{0, 0};  // of the independent variable
};

enum class EpochsLaw { kNoise, kBatch };

struct EpochsFit {
  EpochsLaw law = EpochsLaw::kNoise;
  Line line;                // intercept e_star, slope theta
  bool calibrated = false;  // one run alone: e proportional to x, e_star = 0 by assumption
  bool given = false;       // e_star and theta from earlier runs, by the job file
};

/// nullopt when no run has noise; Error(kInput) when all have the same batch.
std::optional<Line> fit_noise(const std::vector<TrainingRun>& runs);

/// nullopt when no run has epochs.
std::optional<EpochsFit> fit_epochs(const std::vector<TrainingRun>& runs,
                                    const std::optional<Line>& noise);

double noise_at(const Line& noise, double global_batch);

/// May be zero or negative outside of the range: callers refuse that.
double epochs_at(const EpochsFit& epochs, const std::optional<Line>& noise, double global_batch);

/// The line's epochs for a run, at the noise that it measured itself.
double epochs_of_run(const EpochsFit& epochs, const std::optional<Line>& noise,
                     const TrainingRun& run);

}  // namespace plumber
