// SPDX-License-Identifier: Apache-2.0
#include "report/disk_sections.h"

#include <utility>

namespace plumber {

Value disk_rate_of(const std::vector<Disk>& disks) {
  return disks.size() == 1 ? Value(full_disk_rate(disks.front().curve)) : Value();
}

Section disks_section(const std::vector<Disk>& disks) {
  Table table;
  table.columns = {{"prefix", "files", Unit::kNone},
                   {"bytes_per_s", "at most", Unit::kBytesPerSecond},
                   {"one_reader_bytes_per_s", "one reader", Unit::kBytesPerSecond},
                   {"full_rate_readers", "readers for all of it", Unit::kCount}};
  bool any_curve = false;
  for (const Disk& disk : disks) {
    any_curve = any_curve || disk.curve.vertices.size() > 1;
    table.rows.push_back({{disk.prefix, full_disk_rate(disk.curve), disk_rate(disk.curve, 1),
                           static_cast<double>(full_rate_readers(disk.curve))},
                          false});
  }
  return {"limits.disks", any_curve || disks.size() > 1 ? "Disks" : "", table};
}

Section disk_cache_limits(const DiskCache& cache) {
  return {"limits.disk_cache", "",
          Fields{{{"folder", "", Unit::kNone, cache.folder},
                  {"bytes", "", Unit::kBytes, cache.room_bytes},
                  {"read_bytes_per_s", "", Unit::kBytesPerSecond, cache.read_bytes_per_s},
                  {"write_bytes_per_s", "", Unit::kBytesPerSecond, cache.write_bytes_per_s},
                  {"assumed", "", Unit::kNone, cache.assumed}}}};
}

Section disk_cache_items(const DiskCache& cache, const PlannedDisk& disk) {
  Table table;
  table.columns = {{"node", "", Unit::kNone},
                   {"bytes", "bytes", Unit::kBytes},
                   {"", "after", Unit::kNone, true}};
  for (const MemoryItem& item : disk.items)
    table.rows.push_back({{item.node, item.bytes, item.node}, false});
  Sentence sum{"{} planned of {} in {}",
               {{Unit::kBytes, disk.planned_bytes},
                {Unit::kBytes, disk.room_bytes},
                {Unit::kNone, cache.folder}}};
  return {"disk_cache.items", disk.items.empty() ? "" : "Caches on disk", table, std::move(sum)};
}

}  // namespace plumber
