// SPDX-License-Identifier: Apache-2.0
// The overlap law near given coefficients c: logarithms of its times, and how they change with the
// logarithms of c. With shares w = Tc^g / (Tc^g + Tn^g) and v = 1 - w of compute and network
//
//   d ln tau = w d ln Tc + v d ln Tn + (w ln Tc + v ln Tn - ln tau) d ln g
//
// Near c the law is linear in ln c: its fit and the choice of profiles rest on that.
#pragma once

#include "cluster/iteration_law.h"
#include "cluster/overlap_prior.h"

namespace plumber {

struct OverlapTimes {
  double log_compute = 0;    // of seconds
  double log_iteration = 0;  // of seconds
  OverlapVector compute_row{};
  OverlapVector iteration_row{};
};

/// `two_nodes`: between two machines that coefficient counts, else they are the first of many.
OverlapTimes overlap_times(const OverlapVector& c, const Placement& at, bool two_nodes);

/// The coefficients that are most probable given the runs, one or more with an iteration time. What
/// no run shows stays as expected.
OverlapVector most_probable_overlap(const std::vector<TrainingRun>& runs);

}  // namespace plumber
