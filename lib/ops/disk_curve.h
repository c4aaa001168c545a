// SPDX-License-Identifier: Apache-2.0
// What a disk reads a second with so many readers at once: r_d(readers), piecewise linear and
// concave (the paper's disk microbenchmark; docs/design.md, Operational analysis).
//
//   bytes/s |        ________  two pieces, by least squares of relative errors; one reader reads
//           |      /           what the first piece says, more of them more until the disk or the
//           |    /             network is full
//           |  /
//           +-------------- readers
//
// Through the origin below the first vertex, constant beyond the last one: nothing is promised that
// was not measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plumber {

struct DiskPoint {
  double readers = 1;
  double bytes_per_s = 0;
  bool operator==(const DiskPoint&) const = default;
};

struct DiskCurve {
  std::vector<DiskPoint> vertices;  // readers ascend, slopes descend; never empty
  bool operator==(const DiskCurve&) const = default;
};

/// A disk of one rate, however many read.
DiskCurve flat_disk(double bytes_per_s);

/// The curve of measured points, in any order; of equal readers the mean. Two pieces from four
/// points on, else what lies above all points. `measured` is not empty.
DiskCurve fit_disk(std::vector<DiskPoint> measured);

/// Bytes a second that so many readers get together.
double disk_rate(const DiskCurve& curve, double readers);

/// The most that it gives.
double full_disk_rate(const DiskCurve& curve);

/// Fewest readers that get all of it but one percent.
int full_rate_readers(const DiskCurve& curve);

/// A disk of the machine, and the files on it.
struct Disk {
  std::string prefix;  // of the paths of its files; "": of all that no other disk has
  DiskCurve curve;
  bool operator==(const Disk&) const = default;
};

/// The disk that holds a file, by the longest prefix (whole names of folders); nullopt: none.
std::optional<std::size_t> disk_of(const std::vector<Disk>& disks, const std::string& path);

}  // namespace plumber
