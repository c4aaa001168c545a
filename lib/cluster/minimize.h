// SPDX-License-Identifier: Apache-2.0
// Least value of a smooth function of a few variables, without derivatives: the simplex of Nelder
// and Mead (1965), started again from its own answer until that helps no more. Bounded by
// evaluations, never by time.
#pragma once

#include <functional>
#include <vector>

namespace plumber {

using Objective = std::function<double(const std::vector<double>&)>;

std::vector<double> minimize(const Objective& objective, const std::vector<double>& start);

/// One short descent with small steps, for a start that is known to be near.
std::vector<double> minimize_near(const Objective& objective, const std::vector<double>& start);

}  // namespace plumber
