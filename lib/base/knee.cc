// SPDX-License-Identifier: Apache-2.0
#include "base/knee.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plumber {
namespace {

std::vector<double> scaled(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::vector<double> result;
  for (const double value : values) result.push_back((value - *low) / (*high - *low));
  return result;
}

bool is_flat(const std::vector<double>& values) {
  return values.size() < 2 || *std::max_element(values.begin(), values.end()) ==
                                  *std::min_element(values.begin(), values.end());
}

// Shapes that are followed from their far end.
bool is_reversed(const KneeOptions& options) {
  return (options.direction == Direction::kDecreasing) == (options.curve == Curve::kConcave);
}

// d of the turned curve. kneed reverses y alone, not x: on points that are not evenly spaced this
// is what it does, and its answers are the documented ones.
std::vector<double> differences(const std::vector<double>& x, const std::vector<double>& y,
                                const KneeOptions& options) {
  const std::vector<double> xn = scaled(x);
  std::vector<double> d = scaled(y);
  if (options.curve == Curve::kConvex) {
    const double top = *std::max_element(d.begin(), d.end());
    for (double& value : d) value = top - value;
  }
  if (is_reversed(options)) std::reverse(d.begin(), d.end());
  for (std::size_t i = 0; i < d.size(); ++i) d[i] -= xn[i];
  return d;
}

bool is_peak(const std::vector<double>& d, std::size_t i, double sign) {
  const double before = i > 0 ? d[i - 1] : d[i];
  const double after = i + 1 < d.size() ? d[i + 1] : d[i];
  return sign * d[i] >= sign * before && sign * d[i] >= sign * after;
}

struct Search {
  std::vector<std::size_t> knees;  // positions on the turned curve
  double highest = 0;              // of d
  double threshold = 0;            // at the highest
  bool any_peak = false;
};

Search search(const std::vector<double>& d, double step, bool online) {
  Search found;
  bool watching = false;
  double threshold = 0;
  std::size_t candidate = 0;
  for (std::size_t i = 0; i + 1 < d.size(); ++i) {
    const bool peak = is_peak(d, i, 1);
    if (!found.any_peak && !peak) continue;  // before the first maximum
    if (peak) {
      if (!found.any_peak || d[i] > found.highest) {
        found.highest = d[i];
        found.threshold = d[i] - step;
      }
      found.any_peak = watching = true;
      threshold = d[i] - step;
      candidate = i;
    }
    if (is_peak(d, i, -1)) {
      watching = false;
      threshold = 0;
    }
    if (!watching || d[i + 1] >= threshold) continue;
    const bool known =
        std::find(found.knees.begin(), found.knees.end(), candidate) != found.knees.end();
    if (!known) found.knees.push_back(candidate);
    if (!online) break;
  }
  return found;
}

}  // namespace

Knee find_knee(const std::vector<double>& x, const std::vector<double>& y,
               const KneeOptions& options) {
  Knee knee;
  if (is_flat(x) || is_flat(y)) {
    knee.why = x.size() < 2 ? "one point has no knee" : "the curve is flat";
    return knee;
  }
  if (x.size() == 2) {
    knee.why = "two points have no bend";
    return knee;
  }
  const std::vector<double> d = differences(x, y, options);
  const double step = options.sensitivity / static_cast<double>(x.size() - 1);
  const Search found = search(d, step, options.online);
  for (const std::size_t at : found.knees) {
    knee.all.push_back(is_reversed(options) ? x.size() - 1 - at : at);
  }
  if (!knee.all.empty()) {
    knee.index = options.online ? knee.all.back() : knee.all.front();
  } else if (!found.any_peak) {
    knee.why = "the curve does not bend away from the line between its ends";
  } else if (found.threshold < 0) {
    knee.why = fmt::format(
        "too few points: the curve rises {:.3f} above the line between its ends, and {} points "
        "need {:.3f}",
        found.highest, x.size(), step);
  } else {
    knee.why = "the curve never falls far enough behind its bend";
  }
  return knee;
}

double above_chord(const std::vector<double>& x, const std::vector<double>& y, std::size_t at,
                   const KneeOptions& options) {
  return differences(x, y, options)[is_reversed(options) ? x.size() - 1 - at : at];
}

std::optional<std::size_t> farthest_from_chord(const std::vector<double>& x,
                                               const std::vector<double>& y,
                                               const KneeOptions& options) {
  if (is_flat(x) || is_flat(y)) return std::nullopt;
  const std::vector<double> d = differences(x, y, options);
  const auto highest = std::max_element(d.begin(), d.end());
  if (*highest <= 1e-12) return std::nullopt;
  const auto at = static_cast<std::size_t>(highest - d.begin());
  return is_reversed(options) ? x.size() - 1 - at : at;
}

}  // namespace plumber
