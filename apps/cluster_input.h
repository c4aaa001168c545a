// SPDX-License-Identifier: Apache-2.0
// The input pipeline of a training job, as far as the cluster's plan needs it: samples a second on
// each machine type, from the optimiser at that type's cores and memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/outcome.h"

namespace plumber {

/// `samples_per_element` is what one element of the pipeline's root holds; nullopt: the product of
/// the batches below the root. Error(kInput) when the pipeline has no batch of known size.
std::vector<InputRate> input_rates(const std::string& trace_path,
                                   std::optional<double> samples_per_element,
                                   const std::vector<MachineType>& machines);

}  // namespace plumber
