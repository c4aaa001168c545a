// SPDX-License-Identifier: Apache-2.0
// What is assumed of the overlap law before any profile: the logarithm of each coefficient is
// normal about a share of the compute of one profile, and a measured time, of an iteration or of
// its compute, scatters about the law by 8 %, log-normally. The choice of profiles and the fit
// rest on the same assumptions.
#pragma once

#include <array>
#include <cstddef>

#include "cluster/iteration_fit.h"

namespace plumber {

inline constexpr double kOverlapScatter = 0.08;

struct OverlapPrior {
  const char* name;
  double share;      // of the profile's compute (of g: itself)
  double deviation;  // of the logarithm
};
inline constexpr std::array kOverlapPriors{
    OverlapPrior{"compute", 0.3, 1},   OverlapPrior{"compute_per_sample", 0.7, 0.5},
    OverlapPrior{"in_node", 0.1, 1.5}, OverlapPrior{"two_nodes", 0.5, 1},
    OverlapPrior{"across", 0.5, 1},    OverlapPrior{"across_log2", 0.15, 1},
    OverlapPrior{"g", 2, 0.5}};
inline constexpr std::size_t kOverlapCoefficients = kOverlapPriors.size();
enum OverlapIndex : std::size_t {
  kConstant,
  kPerSample,
  kInNode,
  kTwoNodes,
  kAcross,
  kGrowth,
  kExponent
};
using OverlapVector = std::array<double, kOverlapCoefficients>;
using OverlapSquare = std::array<OverlapVector, kOverlapCoefficients>;

/// The coefficients that are expected of a job with such a profile, in the order of the priors.
OverlapVector expected_coefficients(const TrainingRun& profile);

}  // namespace plumber
