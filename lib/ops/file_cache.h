// SPDX-License-Identifier: Apache-2.0
// What a cache in a file costs, cache(filename): TensorFlow writes each element through its bundle
// writer in the first epoch, with a checksum, and reads it back in later ones. Per root element, s,
// with e elements of c tensors and f bytes in the file:
//
//   file bytes  f = e (b + 28 c)
//   reading     e (0.1 us + 0.22 us c) + f / 4.8 GB/s        CPU, on the thread that asks
//   writing     e 1.6 us c + f / 2.7 GB/s                    the same
//   disk        f / read rate, f / write rate of the disk    (disk_load.h)
//
// Measured on TensorFlow 2.21 (2-core virtual machine, files in the page cache, least of three
// runs), us an element:
//
//   element          written    read      file
//   1 x 4 B            1.8       0.37      30 B
//   4 x 4 B            5.9       0.98     113 B
//   1 x 64 KiB          32         14    64 KiB
//   1 x 600 kB         210        124    600 kB
//   1 x 9.6 MB        3577       1904    9.6 MB
#pragma once

#include <string>

namespace plumber {

/// Where a plan may keep caches on disk.
struct DiskCache {
  std::string folder;
  double room_bytes = 0;
  double read_bytes_per_s = 0;  // of one reader, the next one is not asked for before
  double write_bytes_per_s = 0;
  bool assumed = false;  // nothing was given about the disk
  bool operator==(const DiskCache&) const = default;
};

/// What is assumed of a disk of which nothing is known: a plain SATA or network disk.
inline constexpr double kAssumedDisk_bytes_per_s = 200e6;

/// TensorFlow refuses to write more elements than this into one file cache.
inline constexpr double kMostFileCacheElements = 10e6;

/// Elements of so many tensors.
struct FileElements {
  double count = 0;
  int tensors = 1;
};

double file_cache_bytes(const FileElements& elements, double bytes_per_element);
double file_cache_read_s(const FileElements& elements, double file_bytes);
double file_cache_write_s(const FileElements& elements, double file_bytes);

}  // namespace plumber
