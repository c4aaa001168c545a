// SPDX-License-Identifier: Apache-2.0
// The rates that a plan promises, and how far to believe them. A number is a number only while the
// model works where it was tested; else it is an upper bound, with the reason.
#pragma once

#include "optimize/settle.h"

namespace plumber {

/// `without_cache_period_s`: the optimum without any new cache.
Predicted predict(const Problem& problem, const Settled& settled, double without_cache_period_s);

/// Mean rate over the first `epochs` epochs, of which the first one fills the caches.
double mean_rate_per_s(double first_period_s, double later_period_s, double epochs);

}  // namespace plumber
