// SPDX-License-Identifier: Apache-2.0
// Which configurations the laws need profiles of.
//
// Each worker on a machine of its own: the corners of (K, B), as in Scavenger.
//
// Workers share machines: the network is another within a machine, between two and between more.
// After a first profile, of the fewest workers with the middle batch, each further one is the
// configuration that leaves the least variance of ln tau, averaged over the whole grid: a Bayesian
// design (I-optimal; Chaloner and Verdinelli 1995). Near the overlap law that is most probable
// given the profiles so far, ln tau is linear in the logarithms of its coefficients, with
// derivatives J, and a profile tells ln tau and ln compute up to a scatter of 0.08:
//
//   variance of ln tau(c) = J(c)' S J(c),  S' = S - S J J' S / (0.08^2 + J' S J)  for each profile
//
// S begins as the prior's. There are as many profiles as the grid has of: fewest workers, a full
// machine, two machines, four, most workers; and none of one worker, of several on a machine, on
// two and on more machines is left unseen. Which configuration is best does not enter: the rule
// needs no answer to start from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/iteration_fit.h"

namespace plumber {

struct ProfileChoice {
  std::size_t at = 0;  // in the grid
  std::string why;
};

/// Whether some configurations of the grid lie within a machine and some across.
bool crosses_machines(const std::vector<Placement>& grid);

/// The corners of (K, B) in the order of the paper, as far as the grid has them: it ascends in
/// workers, then in batches.
std::vector<ProfileChoice> corners_of(const std::vector<Placement>& grid);

/// nullopt once there are enough. `seen` have an iteration time.
std::optional<ProfileChoice> next_profile(const std::vector<Placement>& grid,
                                          const std::vector<TrainingRun>& seen);

}  // namespace plumber
