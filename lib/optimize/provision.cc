// SPDX-License-Identifier: Apache-2.0
#include "optimize/provision.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace plumber {
namespace {

constexpr double kGib = 0x1p30;
constexpr double kMemoryStep_bytes = kGib / 4;
constexpr double kMB = 1e6;
constexpr std::size_t kMostSources = 6;  // of which each may come from a cache

class Staircase {
 public:
  Staircase(const Offer& offer, const ResourcePrices& prices, const ReachesTarget& reaches)
      : offer_(offer), prices_(prices), reaches_(reaches) {}

  std::optional<Provision> run() {
    for (const Provision& disk : offer_.disks) {
      disk_ = disk;
      fewest_.clear();
      if (!offer_.memory_bytes.empty()) look_between(0, offer_.memory_bytes.size() - 1);
    }
    return best_;
  }

 private:
  Provision at(int cores, std::size_t memory) const {
    Provision provision = disk_;
    provision.cores = cores;
    provision.memory_bytes = offer_.memory_bytes[memory];
    provision.cores_usd = cores * prices_.usd_per_core_hour;
    provision.memory_usd = provision.memory_bytes / kGib * prices_.usd_per_gib_hour;
    return provision;
  }

  // Fewest cores with so much memory; one more than there are if all of them are not enough.
  int fewest_cores(std::size_t memory) {
    const auto known = fewest_.find(memory);
    if (known != fewest_.end()) return known->second;
    int low = 0, high = offer_.most_cores + 1;  // low is not enough, high is
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      (reaches_(at(middle, memory)) ? high : low) = middle;
    }
    if (high <= offer_.most_cores) consider(at(high, memory));
    return fewest_[memory] = high;
  }

  void consider(const Provision& provision) {
    if (!best_ || provision.usd_per_hour() < best_->usd_per_hour()) best_ = provision;
  }

  void look_between(std::size_t first, std::size_t last) {
    std::vector<std::pair<std::size_t, std::size_t>> stretches{{first, last}};
    while (!stretches.empty()) {
      const auto [low, high] = stretches.back();
      stretches.pop_back();
      const int least = fewest_cores(high);
      if (least > offer_.most_cores) continue;  // not even with more memory
      // Nothing in between is cheaper than its least memory with its fewest cores.
      const bool dear =
          best_ && low + 1 < high && at(least, low + 1).usd_per_hour() >= best_->usd_per_hour();
      if (fewest_cores(low) == least || high - low < 2 || dear) continue;
      const std::size_t middle = low + (high - low) / 2;
      stretches.emplace_back(low, middle);
      stretches.emplace_back(middle, high);
    }
  }

  const Offer& offer_;
  const ResourcePrices& prices_;
  const ReachesTarget& reaches_;
  Provision disk_;
  std::map<std::size_t, int> fewest_;
  std::optional<Provision> best_;
};

// Rates that the plan may need: each source is read or comes from a cache.
std::set<double> disk_rates(const Problem& problem, double rate_per_s) {
  std::set<double> sums{0};
  double all = 0;
  std::size_t sources = 0;
  for (const NodeCost& cost : problem.costs.nodes) {
    if (cost.disk_bytes <= 0) continue;
    all += cost.disk_bytes;
    if (++sources > kMostSources) continue;
    for (const double sum : std::set<double>(sums)) sums.insert(sum + cost.disk_bytes);
  }
  sums.insert(all);
  std::set<double> rates;
  // At least 1 MB/s: a cache must be filled from somewhere.
  for (const double sum : sums)
    rates.insert(all > 0 ? std::max(1.0, std::ceil(sum * rate_per_s / kMB - 1e-9)) * kMB : 0);
  return rates;
}

}  // namespace

std::optional<Provision> cheapest_provision(const Offer& offer, const ResourcePrices& prices,
                                            const ReachesTarget& reaches) {
  return Staircase(offer, prices, reaches).run();
}

Offer offer_for(const Problem& problem, double rate_per_s) {
  const Limits& limits = problem.options->limits;
  const ResourcePrices& prices = *problem.options->prices;
  Offer offer;
  offer.most_cores = std::max(1, static_cast<int>(limits.cores));
  for (double bytes = kMemoryStep_bytes; bytes <= limits.memory_bytes; bytes += kMemoryStep_bytes)
    offer.memory_bytes.push_back(bytes);
  if (offer.memory_bytes.empty() || offer.memory_bytes.back() < limits.memory_bytes)
    offer.memory_bytes.push_back(limits.memory_bytes);
  if (limits.disks.empty() && prices.usd_per_mb_per_s_hour) {
    for (const double rate : disk_rates(problem, rate_per_s)) {
      Provision disk;
      if (rate > 0) disk.disk_bytes_per_s = rate;
      disk.disk_usd = rate / kMB * *prices.usd_per_mb_per_s_hour;
      offer.disks.push_back(disk);
    }
  }
  for (const DiskType& type : prices.disks) {
    if (!limits.disks.empty()) break;
    Provision disk;
    disk.disk = type.name;
    disk.disk_bytes_per_s = type.bytes_per_s;
    disk.disk_usd = type.usd_per_hour;
    offer.disks.push_back(disk);
  }
  if (offer.disks.empty()) offer.disks.push_back({});
  return offer;
}

}  // namespace plumber
