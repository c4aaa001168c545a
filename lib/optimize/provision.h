// SPDX-License-Identifier: Apache-2.0
// The cheapest cores, memory and disk that reach a target rate:
//
//   minimise  cores * usd_core + memory * usd_gib + usd_disk   such that  rate(cores, memory, disk)
//   >= target
//
// over whole cores, quarters of a GiB, and the disks on offer: a list of types, or any rate by the
// MB/s. The rate never falls when anything grows, so that for each disk the fewest cores are a
// falling staircase in the memory: its steps are found by halving, and a stretch of equal cores is
// looked into no further. With that, the result is that of trying every combination.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "optimize/problem.h"

namespace plumber {

/// What may be bought.
struct Offer {
  int most_cores = 1;
  std::vector<double> memory_bytes;  // ascending
  std::vector<Provision> disks;      // their disk part; one without a rate: nothing to buy
};

using ReachesTarget = std::function<bool(const Provision&)>;

std::optional<Provision> cheapest_provision(const Offer& offer, const ResourcePrices& prices,
                                            const ReachesTarget& reaches);

/// The offer within the limits: cores, memory, and disks worth trying for this rate; a disk that
/// the limits name is there already.
Offer offer_for(const Problem& problem, double rate_per_s);

}  // namespace plumber
