// SPDX-License-Identifier: Apache-2.0
// Runs -> model: noise against 1/sqrt(B), epochs against noise, iteration time against b and K, for
// each machine type, with what is odd about them as warnings.
#pragma once

#include <vector>

#include "cluster/model.h"

namespace plumber {

/// Error(kInput) with the reason when the runs cannot carry a model.
Model fit_model(const std::vector<TrainingRun>& runs, const Job& job,
                const IterationOptions& options);

/// Where more workers stop bringing more, by runs of equal batch per worker on one machine type:
/// the rate is min(r K, c), fitted by least squares. Claimed where this leaves a quarter of what a
/// straight line leaves, or less, and two numbers of workers lie at the bend or beyond it.
std::vector<Saturation> find_saturation(const std::vector<TrainingRun>& runs);

/// All runs, or 500 of very many: of each configuration as many as of any other, evenly chosen.
std::vector<TrainingRun> enough_of(const std::vector<TrainingRun>& runs);

}  // namespace plumber
