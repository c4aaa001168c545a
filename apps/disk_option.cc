// SPDX-License-Identifier: Apache-2.0
#include "disk_option.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/quantity.h"
#include "ops/disk_file.h"
#include "option_values.h"

namespace plumber {
namespace {

/// "200MB/s": a number with a unit a second.
bool is_rate(const std::string& text) {
  return text.empty() || text.ends_with("/s") ||
         (text.find_first_not_of("0123456789.") == std::string::npos);
}

DiskCurve curve_of(const std::string& text) {
  if (!is_rate(text)) return read_disk_file(read_file(text), text);
  constexpr double kLeast_bytes_per_s = 1024;
  const double rate = parse_bytes_per_s(text, "--disk");
  if (rate > 0 && rate < kLeast_bytes_per_s) {
    const std::string number = text.substr(0, text.find_first_not_of("0123456789."));
    throw Error(ErrorKind::kUsage, "--disk", "'" + text + "' is less than any disk reads",
                "for MB write --disk " + number + "MB/s");
  }
  if (rate > 0) return flat_disk(rate);
  throw Error(ErrorKind::kUsage, "--disk", "'" + text + "' is not above 0",
              "leave it out for a disk without limit");
}

/// A prefix is a folder or the start of an address; a file's name may hold '=' itself.
std::size_t end_of_prefix(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return 0;
  const std::string prefix = text.substr(0, equals);
  return prefix.starts_with('/') || prefix.find("://") != std::string::npos ? equals : 0;
}

/// What follows the prefix.
std::string value_of(const std::string& text) {
  const std::size_t equals = end_of_prefix(text);
  return equals > 0 ? text.substr(equals + 1) : text;
}

}  // namespace

std::vector<std::string> disk_files_of(const std::vector<std::string>& texts) {
  std::vector<std::string> files;
  for (const std::string& text : texts)
    if (!is_rate(value_of(text))) files.push_back(value_of(text));
  return files;
}

void add_disks(CLI::App& command, std::vector<std::string>& texts) {
  command
      .add_option("--disk", texts,
                  "What the disk reads: a rate such as 200MB/s, or a file of fio or of "
                  "plumber_tf.py disk with the rate of several readers; more than one disk by the "
                  "start of its files' paths: --disk /ssd=fio.json --disk /nfs=80MB/s")
      ->type_name("[PREFIX=]RATE|FILE")
      ->allow_extra_args(false);
}

std::vector<Disk> disks_of(const std::vector<std::string>& texts) {
  std::vector<Disk> disks;
  for (const std::string& text : texts) {
    const std::string prefix = text.substr(0, end_of_prefix(text));
    const bool known = std::any_of(disks.begin(), disks.end(),
                                   [&](const Disk& disk) { return disk.prefix == prefix; });
    if (known) {
      throw Error(
          ErrorKind::kUsage, "--disk",
          prefix.empty() ? "two disks without a prefix" : "two disks of '" + prefix + "'",
          "give each the start of its files' paths: --disk /ssd=fio.json --disk /nfs=80MB/s");
    }
    disks.push_back({prefix, curve_of(value_of(text))});
  }
  return disks;
}

DiskCache disk_cache_of(const std::string& text, const std::vector<Disk>& disks) {
  constexpr const char* kWayOut =
      "give the folder and the room in it: --disk-cache /ssd/cache:200G";
  const std::size_t colon = text.rfind(':');
  const std::string size = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (size.empty() || size.front() < '0' || size.front() > '9')
    throw Error(ErrorKind::kUsage, "--disk-cache", "'" + text + "' has no size", kWayOut);
  DiskCache cache;
  cache.folder = text.substr(0, colon);
  while (cache.folder.size() > 1 && cache.folder.ends_with('/')) cache.folder.pop_back();
  if (cache.folder.empty())
    throw Error(ErrorKind::kUsage, "--disk-cache", "'" + text + "' has no folder", kWayOut);
  cache.room_bytes = parse_size(size, "--disk-cache", "--disk-cache " + cache.folder + ":");
  const auto disk = disk_of(disks, cache.folder);
  cache.assumed = !disk;
  cache.read_bytes_per_s = disk ? disk_rate(disks[*disk].curve, 1) : kAssumedDisk_bytes_per_s;
  // Nothing says how fast it writes: as fast as it reads, by one.
  cache.write_bytes_per_s = cache.read_bytes_per_s;
  return cache;
}

}  // namespace plumber
