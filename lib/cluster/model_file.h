// SPDX-License-Identifier: Apache-2.0
// Reads what `cluster fit` wrote: a JSON object whose keys docs/cluster.md lists. Numbers in it
// have 9 digits, so that a plan from the file and one from the fit differ in the last of them at
// most.
#pragma once

#include <string>
#include <string_view>

#include "cluster/model.h"

namespace plumber {

/// Error(kInput) names the member that is missing or of the wrong kind.
Model parse_cluster_model(std::string_view text, const std::string& name);

}  // namespace plumber
