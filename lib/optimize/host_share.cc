// SPDX-License-Identifier: Apache-2.0
#include "optimize/host_share.h"

namespace plumber {

Limits share_of_host(const Limits& host, double processes) {
  Limits share = host;
  share.processes = processes;
  share.cores /= processes;
  share.memory_bytes /= processes;
  for (Disk& disk : share.disks) {
    for (DiskPoint& point : disk.curve.vertices) {
      point.readers /= processes;
      point.bytes_per_s /= processes;
    }
  }
  return share;
}

}  // namespace plumber
