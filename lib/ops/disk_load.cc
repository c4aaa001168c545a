// SPDX-License-Identifier: Apache-2.0
#include "ops/disk_load.h"

#include <algorithm>

namespace plumber {
namespace {

double threads_of_interleave(const Node& node, const NodeSetting& setting) {
  const bool holds_data_sets = node.kind == Kind::kInterleave || node.kind == Kind::kFlatMap;
  return holds_data_sets && is_boundary(node, setting) ? readers_at_once(node, setting) : 1;
}

// By disk.
struct Loads {
  const DiskReaders& by;
  const PerNode<bool>& active;
  std::vector<DiskLoad>& loads;
  std::vector<std::map<int, double>>& threads;  // readers of each
};

void add_caches(const Pipeline& pipeline, const Costs& costs, const Loads& all) {
  const Machine& machine = all.by.machine;
  const std::size_t disk = cache_disk(machine);
  DiskLoad& load = all.loads[disk];
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    if (!all.by.setting[n].on_disk || !all.active[n]) continue;
    const double bytes = costs.nodes[n].file_cache_bytes;
    load.shares[n] += bytes;
    if (!all.by.setting[n].cached) {
      load.written_s += bytes / machine.disk_cache->write_bytes_per_s;
      continue;
    }
    load.bytes += bytes;
    double& readers = all.threads[disk][all.by.segment[n]];
    readers = std::max(readers, 1.0);
  }
}

}  // namespace

double readers_of(const Pipeline& pipeline, const Setting& setting, NodeId n) {
  // A function that reads files does so once in each of its calls at a time.
  const bool calls = pipeline[n].kind != Kind::kFileSource && is_parallel(setting[n].mode);
  double readers = calls ? std::max(1.0, setting[n].parallelism) : 1;
  for (auto outer = pipeline[n].outer; outer; outer = pipeline[*outer].outer)
    readers *= threads_of_interleave(pipeline[*outer], setting[*outer]);
  return readers;
}

std::vector<DiskSource> disk_sources(const Pipeline& pipeline, const Costs& costs,
                                     const std::vector<Disk>& disks) {
  std::vector<DiskSource> sources;
  if (disks.empty()) return sources;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    if (costs.nodes[n].disk_bytes <= 0) continue;
    // A file on no disk that was given has no limit; without a name it may lie on any.
    const std::string& file = costs.nodes[n].file;
    const auto disk =
        file.empty() ? std::optional(disk_of(disks, "").value_or(0)) : disk_of(disks, file);
    if (disk) sources.push_back({n, *disk});
  }
  return sources;
}

std::size_t cache_disk(const Machine& machine) {
  const auto disk = disk_of(machine.disks, machine.disk_cache->folder);
  return disk.value_or(machine.disks.size());
}

std::size_t disk_count(const Machine& machine) {
  const bool own = machine.disk_cache && cache_disk(machine) == machine.disks.size();
  return machine.disks.size() + (own ? 1 : 0);
}

std::vector<DiskLoad> disk_loads(const Pipeline& pipeline, const Costs& costs,
                                 const DiskReaders& by) {
  const Machine& machine = by.machine;
  std::vector<DiskLoad> loads(disk_count(machine));
  if (loads.empty()) return loads;
  const PerNode<bool> active = active_nodes(pipeline, by.setting);
  std::vector<std::map<int, double>> threads(loads.size());
  for (const DiskSource& source : disk_sources(pipeline, costs, machine.disks)) {
    if (!active[source.node]) continue;
    DiskLoad& load = loads[source.disk];
    load.bytes += costs.nodes[source.node].disk_bytes;
    load.shares[source.node] = costs.nodes[source.node].disk_bytes;
    double& readers = threads[source.disk][by.segment[source.node]];
    readers = std::max(readers, readers_of(pipeline, by.setting, source.node));
  }
  if (machine.disk_cache) add_caches(pipeline, costs, {by, active, loads, threads});
  for (std::size_t d = 0; d < loads.size(); ++d) {
    for (const auto& [thread, readers] : threads[d]) loads[d].readers += readers;
    const double rate = d < machine.disks.size()
                            ? disk_rate(machine.disks[d].curve, loads[d].readers)
                            : machine.disk_cache->read_bytes_per_s;
    if (loads[d].bytes > 0 && rate > 0) loads[d].period_s = loads[d].bytes / rate;
    loads[d].period_s += loads[d].written_s;
  }
  return loads;
}

}  // namespace plumber
