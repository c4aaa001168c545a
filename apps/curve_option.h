// SPDX-License-Identifier: Apache-2.0
// --curve cores=1..96, cores=1..96/4 (every fourth), cores=1,2,4; memory=1G..64G (doubling),
// memory=1G,3G.
#pragma once

#include <string>

#include "optimize/rate_curve.h"

namespace plumber {

Sweep sweep_of(const std::string& text);

}  // namespace plumber
