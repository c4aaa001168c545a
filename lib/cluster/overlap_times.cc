// SPDX-License-Identifier: Apache-2.0
#include "cluster/overlap_times.h"

#include <algorithm>
#include <cmath>

namespace plumber {
namespace {

// The network's time, and its logarithm's derivatives into `row`.
double network_of(const OverlapVector& c, const Placement& at, bool two_nodes, OverlapVector& row) {
  if (at.nodes <= 1) {
    row[kInNode] = 1;
    return c[kInNode] * (at.workers - 1);
  }
  if (at.nodes <= 2 && two_nodes) {
    row[kTwoNodes] = 1;
    return c[kTwoNodes];
  }
  const double growth = c[kGrowth] * std::log2(at.nodes);
  const double network_s = c[kAcross] + growth;
  row[kAcross] = c[kAcross] / network_s;
  row[kGrowth] = growth / network_s;
  return network_s;
}

}  // namespace

OverlapTimes overlap_times(const OverlapVector& c, const Placement& at, bool two_nodes) {
  OverlapTimes times;
  const double batch_s = c[kPerSample] * at.global_batch / at.workers;
  const double compute_s = c[kConstant] + batch_s;
  times.log_compute = std::log(compute_s);
  times.compute_row[kConstant] = c[kConstant] / compute_s;
  times.compute_row[kPerSample] = batch_s / compute_s;
  if (at.workers <= 1) {
    times.log_iteration = times.log_compute;
    times.iteration_row = times.compute_row;
    return times;
  }
  const double g = c[kExponent], log_compute = times.log_compute;
  OverlapVector& row = times.iteration_row;
  const double log_network = std::log(network_of(c, at, two_nodes, row));
  const double longer = std::max(log_compute, log_network);
  times.log_iteration = longer + std::log1p(std::exp(-g * std::abs(log_compute - log_network))) / g;
  const double compute_share = std::exp(g * (log_compute - times.log_iteration));
  for (double& one : row) one *= 1 - compute_share;
  for (const std::size_t i : {kConstant, kPerSample}) row[i] = compute_share * times.compute_row[i];
  row[kExponent] =
      compute_share * log_compute + (1 - compute_share) * log_network - times.log_iteration;
  return times;
}

}  // namespace plumber
