// SPDX-License-Identifier: Apache-2.0
// The rate of the best plan against the cores or the memory that it may use, with its knee: where
// more begins to bring little (base/knee.h; where Kneedle finds none, the point farthest from the
// line between the ends).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimize/optimize.h"

namespace plumber {

enum class Swept { kCores, kMemory };

struct Sweep {
  Swept what = Swept::kCores;
  std::vector<double> values;  // ascending: cores or bytes
};

struct RatePoint {
  double cores = 0;
  double memory_bytes = 0;
  double rate_per_s = 0;
  std::optional<Bound> bound;
  bool fits = true;
};

struct RateCurve {
  Swept what = Swept::kCores;
  Limits limits;
  std::vector<RatePoint> points;
  std::optional<std::size_t> knee;
  std::string method;  // "kneedle", "maximum-distance"; "" without a knee
  std::string why;     // why Kneedle finds none
};

/// Solves at each value of the sweep, all other limits as they are.
RateCurve rate_curve(const Pipeline& pipeline, const Analysis& analysis,
                     const OptimizeOptions& options, const Sweep& sweep);

}  // namespace plumber
