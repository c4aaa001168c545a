// SPDX-License-Identifier: Apache-2.0
// The knee of a curve, by Kneedle (Satopaa et al. 2011) in the variant of the widely used program
// kneed: x and y are scaled to 0..1, y is turned so that every shape becomes "rising and concave",
// and the difference d = y - x is followed from its first local maximum on:
//
//   at a local maximum   candidate, threshold d_max - S / (n - 1), watching starts
//   at a local minimum   threshold 0, watching stops until the next maximum
//   d below threshold    the candidate is a knee
//
// With few points the threshold may lie below every d, and there is no knee although the curve
// bends (n = 4, S = 1 needs d_max > 1/3): the reason is given, and farthest_from_chord() is what
// people take instead.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace plumber {

enum class Curve { kConcave, kConvex };
enum class Direction { kIncreasing, kDecreasing };

struct KneeOptions {
  Curve curve = Curve::kConvex;
  Direction direction = Direction::kDecreasing;
  double sensitivity = 1;  // S
  bool online = false;     // the last knee instead of the first
};

struct Knee {
  std::optional<std::size_t> index;  // of the point, in the order given
  std::vector<std::size_t> all;      // every knee, in the order found
  std::string why;                   // why there is none
};

/// x ascending, without equal neighbours.
Knee find_knee(const std::vector<double>& x, const std::vector<double>& y,
               const KneeOptions& options = {});

/// The point with the largest d: the fall-back, "maximum distance". nullopt when nothing bends away
/// from the straight line between the ends.
std::optional<std::size_t> farthest_from_chord(const std::vector<double>& x,
                                               const std::vector<double>& y,
                                               const KneeOptions& options = {});

/// The difference d at a point of a curve that is not flat: how far it lies above the straight line
/// between the ends, as a share of the whole rise.
double above_chord(const std::vector<double>& x, const std::vector<double>& y, std::size_t at,
                   const KneeOptions& options = {});

}  // namespace plumber
