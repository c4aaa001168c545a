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

/// Where more workers stop bringing more, by runs of equal batch per worker on one machine type.
std::vector<Saturation> find_saturation(const std::vector<TrainingRun>& runs);

}  // namespace plumber
