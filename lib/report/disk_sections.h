// SPDX-License-Identifier: Apache-2.0
// What a plan says of disks: how fast they read, and the caches that it keeps on one.
#pragma once

#include <vector>

#include "optimize/optimize.h"
#include "report/report.h"

namespace plumber {

/// One rate only where there is one disk.
Value disk_rate_of(const std::vector<Disk>& disks);

Section disks_section(const std::vector<Disk>& disks);
Section disk_cache_limits(const DiskCache& cache);
Section disk_cache_items(const DiskCache& cache, const PlannedDisk& disk);

}  // namespace plumber
