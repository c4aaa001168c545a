// SPDX-License-Identifier: Apache-2.0
#include "optimize/provision.h"

#include <random>

#include "base/error.h"
#include "catch2_any.h"

using namespace plumber;

namespace {

constexpr double kGib = 0x1p30;

// The paper's prices: GCP N1 of us-east1, local SSD of 375 GB with 660 MB/s.
constexpr const char* kPaperPrices = R"({
  "usd_per_core_hour": 0.031611, "usd_per_gib_hour": 0.004237,
  "disks": [{"name": "local-ssd", "bytes_per_s": 660e6, "usd_per_gib_month": 0.08, "gib": 375}]})";

Provision disk(double bytes_per_s, double usd) {
  Provision provision;
  provision.disk_bytes_per_s = bytes_per_s;
  provision.disk_usd = usd;
  return provision;
}

// Tries every combination.
std::optional<double> cheapest_by_force(const Offer& offer, const ResourcePrices& prices,
                                        const ReachesTarget& reaches) {
  std::optional<double> best;
  for (Provision one : offer.disks) {
    for (const double bytes : offer.memory_bytes) {
      for (int cores = 1; cores <= offer.most_cores; ++cores) {
        one.cores = cores, one.memory_bytes = bytes;
        one.cores_usd = cores * prices.usd_per_core_hour;
        one.memory_usd = bytes / kGib * prices.usd_per_gib_hour;
        if (reaches(one) && (!best || one.usd_per_hour() < *best)) best = one.usd_per_hour();
      }
    }
  }
  return best;
}

}  // namespace

TEST_CASE("the paper's prices: a local SSD costs 0.0062267 dollars an hour for 100 MB/s") {
  const ResourcePrices prices = read_resource_prices(kPaperPrices, "prices.json");
  CHECK(prices.usd_per_core_hour == 0.031611);
  CHECK(prices.usd_per_gib_hour == 0.004237);
  REQUIRE(prices.disks.size() == 1);
  CHECK(prices.disks[0].usd_per_hour == Approx(0.08 / 730 * 375));
  CHECK(prices.disks[0].usd_per_hour / prices.disks[0].bytes_per_s * 100e6 ==
        Approx(0.0062267).epsilon(1e-4));
}

TEST_CASE("the paper's figure 5: 450 MB/s and 15 cores for 30 minibatches a second") {
  // 15 MB and half a core second a minibatch; an epoch of 148 GB that fits into 150 GiB of memory
  // saves the disk, 5 more GiB than a quarter of the cores.
  const double rate = 30, bytes = 15e6, cpu_s = 0.5, epoch_bytes = 148e9;
  const auto reaches = [&](const Provision& p) {
    const bool cached = p.memory_bytes >= epoch_bytes;
    const bool disk_enough = cached || p.disk_bytes_per_s.value_or(0) >= rate * bytes;
    return disk_enough && p.cores / cpu_s >= rate;
  };
  Offer offer;
  offer.most_cores = 96;
  for (int gib = 1; gib <= 300; ++gib) offer.memory_bytes.push_back(gib * kGib);
  for (const double mb : {1, 100, 200, 300, 400, 450, 500})
    offer.disks.push_back(disk(mb * 1e6, mb * 0.0062267 / 100));
  ResourcePrices prices = read_resource_prices(kPaperPrices, "prices.json");
  const auto cheapest = cheapest_provision(offer, prices, reaches);
  REQUIRE(cheapest);
  CHECK(cheapest->cores == 15);
  CHECK(cheapest->disk_bytes_per_s == 450e6);
  CHECK(cheapest->memory_bytes == kGib);
  CHECK(cheapest->usd_per_hour() == Approx(15 * 0.031611 + 0.004237 + 4.5 * 0.0062267));

  // Were disk a hundred times dearer, memory for all of the epoch would be bought instead.
  for (Provision& one : offer.disks) one.disk_usd *= 100;
  const auto cached = cheapest_provision(offer, prices, reaches);
  REQUIRE(cached);
  CHECK(cached->memory_bytes == 138 * kGib);
  CHECK(cached->disk_bytes_per_s == 1e6);
}

TEST_CASE("nothing within the offer reaches the target") {
  const Offer offer{4, {kGib}, {disk(1e6, 1)}};
  CHECK_FALSE(cheapest_provision(offer, {1, 1, {}, {}}, [](const Provision&) { return false; }));
}

TEST_CASE("random rates that never fall as anything grows: the same as every combination") {
  std::mt19937 random(7);
  const auto draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    Offer offer;
    offer.most_cores = 1 + static_cast<int>(draw(0, 24));
    for (int i = 1; i <= 1 + static_cast<int>(draw(0, 30)); ++i)
      offer.memory_bytes.push_back(i * kGib);
    for (int i = 0; i <= static_cast<int>(draw(0, 4)); ++i)
      offer.disks.push_back(disk(draw(10e6, 900e6), draw(0, 2)));
    const ResourcePrices prices{draw(0, 0.1), draw(0, 0.1), {}, {}};
    // Caches: a step of memory spares CPU, another one the disk.
    const double cpu_s = draw(0.1, 2), step = draw(1, 30) * kGib, saved = draw(0, 1);
    const double bytes = draw(1e6, 60e6), disk_step = draw(1, 40) * kGib, target = draw(1, 20);
    const auto reaches = [&](const Provision& p) {
      const double work_s = p.memory_bytes >= step ? cpu_s * saved : cpu_s;
      const bool reads = p.memory_bytes < disk_step;
      return p.cores / work_s >= target &&
             (!reads || p.disk_bytes_per_s.value_or(0) >= target * bytes);
    };
    const auto fast = cheapest_provision(offer, prices, reaches);
    const auto force = cheapest_by_force(offer, prices, reaches);
    REQUIRE(fast.has_value() == force.has_value());
    if (fast) CHECK(fast->usd_per_hour() == Approx(*force));
  }
}

TEST_CASE("a price that is misspelt is refused with the nearest") {
  CHECK_THROWS_AS(read_resource_prices(R"({"usd_per_cores_hour": 1})", "p.json"), Error);
}
