// SPDX-License-Identifier: Apache-2.0
#include "ops/contention.h"

#include <algorithm>
#include <cmath>

namespace plumber {
namespace {

constexpr double kMeasuredCores = 2;
constexpr double kPerDeviation = 2.6;

}  // namespace

double beside_busy_cores_s(double thread_s, double cores_s, double cores) {
  const double larger_s = std::max(thread_s, cores_s);
  if (cores <= kMeasuredCores || !(larger_s > 0)) return larger_s;
  const double beyond = 1 - kMeasuredCores / cores;
  const double power = kPerDeviation * std::sqrt(cores) / (beyond * beyond);
  const double ratio = std::min(thread_s, cores_s) / larger_s;
  return larger_s * std::pow(1 + std::pow(ratio, power), 1 / power);
}

}  // namespace plumber
