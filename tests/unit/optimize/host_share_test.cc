// SPDX-License-Identifier: Apache-2.0
#include "optimize/host_share.h"

#include "catch2_any.h"
#include "small_pipeline.h"

using namespace plumber;

TEST_CASE("processes divide cores, memory and what disks give to all of their readers") {
  Limits host;
  host.cores = 32;
  host.memory_bytes = 256e9;
  host.disks = {{"", DiskCurve{{{2, 100e6}, {16, 400e6}}}}};
  const Limits share = share_of_host(host, 4);
  CHECK(share.cores == 8);
  CHECK(share.memory_bytes == 64e9);
  CHECK(share.processes == 4);
  // One reader in each of four processes: four at once.
  CHECK(disk_rate(share.disks[0].curve, 1) == Approx(disk_rate(host.disks[0].curve, 4) / 4));
  CHECK(full_disk_rate(share.disks[0].curve) == Approx(100e6));
  CHECK(share_of_host(host, 1).memory_bytes == host.memory_bytes);
}

TEST_CASE("all processes together keep to the host") {
  const SmallPipeline p = training();
  OptimizeOptions options = within(16, 400e6);
  options.limits = share_of_host(options.limits, 4);
  const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
  CHECK(4 * result.memory.planned_bytes <= 400e6);
  CHECK(result.predicted.after_per_s <=
        optimize(p.pipeline, p.analysis, within(16, 400e6)).predicted.after_per_s);
}
