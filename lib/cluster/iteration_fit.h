// SPDX-License-Identifier: Apache-2.0
// Fits the laws of iteration_law.h to runs and compares them by leave-one-out error: the mean of
// |predicted / measured - 1| at points that the fit has not seen. Squares are of relative errors
// for overlap and pollux, of seconds for scavenger and ernest, as their authors have it.
//
// A law needs as many points as coefficients, unless its prior is stated: pollux starts from and is
// pulled to small network growth (1e-3 (g - 1)^2 + 1e-2 [(bn/an)^2 + (br/ar)^2]), overlap to the
// shares of overlap_prior.h. What no run shows has no coefficient: see seen_placements.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/iteration_law.h"
#include "cluster/runs.h"

namespace plumber {

struct IterationOptions {
  std::optional<IterationLaw> law;     // nullopt: the one with the least leave-one-out error
  bool batch_term = false;             // scavenger: sync also grows with B
  bool total_only = false;             // scavenger: one model of the whole iteration
  std::optional<IterationModel> near;  // overlap, pollux: of much the same runs; spares the search
};

/// How one law did.
struct LawResult {
  IterationLaw law = IterationLaw::kScavenger;
  std::optional<IterationModel> model;  // nullopt when it cannot be fitted
  double r2 = 0;
  double mean_error = 0;  // relative, on the points fitted
  std::optional<double> leave_one_out;
  std::string why_not;              // why there is no model, or no leave-one-out error
  std::vector<double> residuals_s;  // measured - fitted, by run
};

struct IterationFit {
  std::string machine;  // empty: of all
  LawResult chosen;
  std::string why;  // it was chosen
  std::vector<LawResult> compared;
};

Placement placement_of(const TrainingRun& run);

/// One law on runs that have an iteration time.
LawResult fit_law(IterationLaw law, const std::vector<TrainingRun>& runs,
                  const IterationOptions& options);

/// The same without its quality: what is done many times over.
std::optional<IterationModel> fit_only(IterationLaw law, const std::vector<TrainingRun>& runs,
                                       const IterationOptions& options, std::string& why);

/// All laws, or the one asked for. Error(kInput) when none can be fitted, with each law's reason.
IterationFit fit_iteration(const std::vector<TrainingRun>& runs, const IterationOptions& options);

/// Gauss-Newton standard errors of a fitted overlap or pollux law.
void add_standard_errors(IterationModel& model, const std::vector<TrainingRun>& runs);

// The single fits; nullopt and `why` when the runs do not determine the law.
std::optional<IterationModel> fit_scavenger(const std::vector<TrainingRun>& runs,
                                            const IterationOptions& options, std::string& why);
std::optional<IterationModel> fit_ernest(const std::vector<TrainingRun>& runs, std::string& why);
// `near` is a fit of much the same runs, from which the search is short.
std::optional<IterationModel> fit_pollux(const std::vector<TrainingRun>& runs,
                                         const std::optional<IterationModel>& near,
                                         std::string& why);
std::optional<IterationModel> fit_overlap(const std::vector<TrainingRun>& runs,
                                          const std::optional<IterationModel>& near,
                                          std::string& why);

}  // namespace plumber
