// SPDX-License-Identifier: Apache-2.0
// What cores, memory and disk cost an hour, for the cheapest way to a target rate. A price file is
// JSON (docs/formats.md):
//
//   {"schema_version": 1, "usd_per_core_hour": 0.031611, "usd_per_gib_hour": 0.004237,
//    "usd_per_mb_per_s_hour": 0.0000623,
//    "disks": [{"name": "local-ssd", "bytes_per_s": 660e6, "usd_per_gib_month": 0.08, "gib": 375}]}
//
// Disks are bought by the rate (10^6 bytes a second), or as one of a list, each at usd_per_hour or
// by its size and month of 730 hours: 0.08 x 375 / 730 / 660 = $0.0000623 for 1 MB/s an hour.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plumber {

constexpr double kHoursOfMonth = 730;

struct DiskType {
  std::string name;
  double bytes_per_s = 0;
  double usd_per_hour = 0;
  bool operator==(const DiskType&) const = default;
};

struct ResourcePrices {
  double usd_per_core_hour = 0;
  double usd_per_gib_hour = 0;
  std::optional<double> usd_per_mb_per_s_hour;
  std::vector<DiskType> disks;
  bool operator==(const ResourcePrices&) const = default;
};

/// Throws Error(kInput) with file, line and column.
ResourcePrices read_resource_prices(const std::string& text, const std::string& name);

}  // namespace plumber
