// SPDX-License-Identifier: Apache-2.0
// What the sources of a pipeline ask of the machine's disks under a setting:
//
//   readers_n    product of min(p, cycle_length) over the parallel interleaves around source n
//   readers_d    their sum over the threads that read from disk d; sources on one thread take turns
//   period_d  =  sum of bytes_n / r_d(readers_d)       s per root element
//
// A cache on disk reads (one more reader) or is written on the disk that holds its folder; on none
// that was given it has a disk of its own, which comes after the others.
#pragma once

#include <map>
#include <vector>

#include "ops/cost_model.h"

namespace plumber {

struct DiskLoad {
  double bytes = 0;      // per root element
  double readers = 0;    // at once
  double written_s = 0;  // of caches that are being filled
  double period_s = 0;
  std::map<NodeId, double> shares;  // bytes of each source
};

/// Threads of the interleaves around a node: how many of it run at once.
double readers_of(const Pipeline& pipeline, const Setting& setting, NodeId n);

/// The sources that read files, and by the index of machine.disks where they lie. Files of no known
/// name lie on the disk that has no prefix, else on the first.
struct DiskSource {
  NodeId node{};
  std::size_t disk = 0;
};
std::vector<DiskSource> disk_sources(const Pipeline& pipeline, const Costs& costs,
                                     const std::vector<Disk>& disks);

/// How sources read: the setting, and the thread of each as evaluate() numbers them.
struct DiskReaders {
  const Setting& setting;
  const PerNode<int>& segment;
  const Machine& machine;
};

/// Disks of the machine, with the one that only caches have.
std::size_t disk_count(const Machine& machine);

/// The disk of the caches by that count; only where there may be some.
std::size_t cache_disk(const Machine& machine);

/// One load a disk.
std::vector<DiskLoad> disk_loads(const Pipeline& pipeline, const Costs& costs,
                                 const DiskReaders& by);

}  // namespace plumber
