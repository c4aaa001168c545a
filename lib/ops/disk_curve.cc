// SPDX-License-Identifier: Apache-2.0
#include "ops/disk_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plumber {
namespace {

constexpr double kFull = 0.99;
constexpr std::size_t kLeastForTwoPieces = 4;  // points

struct Line {
  double slope = 0;
  double intercept = 0;
  double at(double x) const { return intercept + slope * x; }
};

std::vector<DiskPoint> by_readers(std::vector<DiskPoint> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const DiskPoint& a, const DiskPoint& b) { return a.readers < b.readers; });
  std::vector<DiskPoint> means;
  for (std::size_t i = 0, next = 0; i < points.size(); i = next) {
    double sum = 0;
    while (next < points.size() && points[next].readers == points[i].readers)
      sum += points[next++].bytes_per_s;
    means.push_back({points[i].readers, sum / static_cast<double>(next - i)});
  }
  return means;
}

// Least squares of relative errors over points [from, to).
Line line_through(const std::vector<DiskPoint>& points, std::size_t from, std::size_t to) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (std::size_t i = from; i < to; ++i) {
    const double x = points[i].readers, y = points[i].bytes_per_s;
    const double weight = 1 / (y * y);
    w += weight, wx += weight * x, wy += weight * y;
    wxx += weight * x * x, wxy += weight * x * y;
  }
  const double spread = w * wxx - wx * wx;
  Line line;
  if (to - from > 1 && spread > 0) line.slope = (w * wxy - wx * wy) / spread;
  line.intercept = (wy - line.slope * wx) / w;
  return line;
}

double squared_error(const std::vector<DiskPoint>& points, const Line& left, const Line& right) {
  double sum = 0;
  for (const DiskPoint& point : points) {
    const double fitted = std::min(left.at(point.readers), right.at(point.readers));
    sum += std::pow(fitted / point.bytes_per_s - 1, 2);
  }
  return sum;
}

// Vertices of min(left, right) between the first and the last point.
DiskCurve joined(const std::vector<DiskPoint>& points, const Line& left, const Line& right) {
  const double first = points.front().readers, last = points.back().readers;
  const auto at = [&](double x) {
    return DiskPoint{x, std::max(0.0, std::min(left.at(x), right.at(x)))};
  };
  DiskCurve curve{{at(first)}};
  const double bend = left.slope > right.slope
                          ? (right.intercept - left.intercept) / (left.slope - right.slope)
                          : last;
  if (bend > first && bend < last) curve.vertices.push_back(at(bend));
  curve.vertices.push_back(at(last));
  return curve;
}

// The least concave function above the points.
DiskCurve hull(const std::vector<DiskPoint>& points) {
  DiskCurve curve;
  std::vector<DiskPoint>& top = curve.vertices;
  for (const DiskPoint& point : points) {
    while (top.size() >= 2) {
      const DiskPoint& a = top[top.size() - 2];
      const DiskPoint& b = top.back();
      const double through = (b.bytes_per_s - a.bytes_per_s) * (point.readers - a.readers);
      if (through > (point.bytes_per_s - a.bytes_per_s) * (b.readers - a.readers)) break;
      top.pop_back();
    }
    top.push_back(point);
  }
  return curve;
}

// More readers never get more each than fewer do: a first line that starts below the origin would
// say so.
Line from_origin_on(const std::vector<DiskPoint>& points, std::size_t to, Line line) {
  if (line.intercept >= 0) return line;
  double slope = 0;
  for (std::size_t i = 0; i < to; ++i) slope += points[i].bytes_per_s / points[i].readers;
  return {slope / static_cast<double>(to), 0};
}

}  // namespace

DiskCurve flat_disk(double bytes_per_s) { return {{{1, bytes_per_s}}}; }

DiskCurve fit_disk(std::vector<DiskPoint> measured) {
  const std::vector<DiskPoint> points = by_readers(std::move(measured));
  if (points.size() < kLeastForTwoPieces) return hull(points);
  double least = std::numeric_limits<double>::infinity();
  DiskCurve best = hull(points);
  for (std::size_t split = 1; split < points.size(); ++split) {
    const Line left = from_origin_on(points, split, line_through(points, 0, split));
    Line right = line_through(points, split, points.size());
    // A first piece of one point rises from the origin to it.
    const bool single = split == 1;
    const Line rising{points.front().bytes_per_s / points.front().readers, 0};
    const Line& first = single ? rising : left;
    if (right.slope > first.slope) continue;
    const double error = squared_error(points, first, right);
    if (error >= least) continue;
    least = error;
    best = joined(points, first, right);
  }
  return best;
}

double disk_rate(const DiskCurve& curve, double readers) {
  const std::vector<DiskPoint>& v = curve.vertices;
  if (readers <= v.front().readers)
    return v.size() == 1 ? v.front().bytes_per_s
                         : v.front().bytes_per_s * std::max(readers, 0.0) / v.front().readers;
  for (std::size_t i = 1; i < v.size(); ++i) {
    if (readers > v[i].readers) continue;
    const double share = (readers - v[i - 1].readers) / (v[i].readers - v[i - 1].readers);
    return v[i - 1].bytes_per_s + share * (v[i].bytes_per_s - v[i - 1].bytes_per_s);
  }
  return v.back().bytes_per_s;
}

double full_disk_rate(const DiskCurve& curve) {
  double most = 0;
  for (const DiskPoint& vertex : curve.vertices) most = std::max(most, vertex.bytes_per_s);
  return most;
}

int full_rate_readers(const DiskCurve& curve) {
  const double enough = kFull * full_disk_rate(curve);
  double from = 0, rate = 0;  // the end of the piece before
  for (const DiskPoint& vertex : curve.vertices) {
    if (vertex.bytes_per_s >= enough) {
      if (curve.vertices.size() == 1) return 1;
      const double share = (enough - rate) / (vertex.bytes_per_s - rate);
      return std::max(1,
                      static_cast<int>(std::ceil(from + share * (vertex.readers - from) - 1e-9)));
    }
    from = vertex.readers, rate = vertex.bytes_per_s;
  }
  return 1;
}

std::optional<std::size_t> disk_of(const std::vector<Disk>& disks, const std::string& path) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < disks.size(); ++i) {
    const std::string& prefix = disks[i].prefix;
    const bool whole = prefix.empty() || prefix.ends_with('/') || path.size() <= prefix.size() ||
                       path[prefix.size()] == '/';
    if (!path.starts_with(prefix) || !whole) continue;
    if (!found || prefix.size() > disks[*found].prefix.size()) found = i;
  }
  return found;
}

}  // namespace plumber
