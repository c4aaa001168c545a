// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "cluster/fit.h"

namespace plumber {
namespace {

constexpr std::size_t kFewestPoints = 4;
constexpr double kWorthClaiming = 0.25;  // of the squares that a straight line leaves

// Samples a second by number of workers, ascending; the first run of each number.
struct Rates {
  std::vector<double> workers;
  std::vector<double> per_s;
};

Rates rates_of(std::vector<TrainingRun> runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const TrainingRun& a, const TrainingRun& b) {
    return a.workers < b.workers;
  });
  Rates rates;
  for (const TrainingRun& run : runs) {
    if (!rates.workers.empty() && rates.workers.back() == run.workers) continue;
    rates.workers.push_back(run.workers);
    rates.per_s.push_back(run.global_batch / *run.iteration_s);
  }
  return rates;
}

// rate = min(slope K, ceiling), of the first `rising` points and the rest.
struct Hinge {
  double slope = 0;
  double ceiling = 0;
  double squares = 0;
};

Hinge hinge_at(const Rates& rates, std::size_t rising) {
  double xy = 0, xx = 0, sum = 0;
  const std::size_t n = rates.workers.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (i < rising) {
      xy += rates.workers[i] * rates.per_s[i];
      xx += rates.workers[i] * rates.workers[i];
    } else {
      sum += rates.per_s[i];
    }
  }
  Hinge hinge{xy / xx, rising < n ? sum / static_cast<double>(n - rising) : 0, 0};
  for (std::size_t i = 0; i < n; ++i) {
    const double fitted = i < rising ? hinge.slope * rates.workers[i] : hinge.ceiling;
    hinge.squares += (rates.per_s[i] - fitted) * (rates.per_s[i] - fitted);
  }
  return hinge;
}

std::optional<Saturation> saturation_of(const std::vector<TrainingRun>& runs) {
  const Rates rates = rates_of(runs);
  const std::size_t n = rates.workers.size();
  if (n < kFewestPoints) return std::nullopt;
  Hinge best = hinge_at(rates, 1);
  for (std::size_t rising = 2; rising < n; ++rising) {
    const Hinge other = hinge_at(rates, rising);
    if (other.squares < best.squares) best = other;
  }
  if (best.squares > kWorthClaiming * hinge_at(rates, n).squares) return std::nullopt;
  const double bend = best.ceiling / best.slope;
  const auto from = std::lower_bound(rates.workers.begin(), rates.workers.end(), bend - 1e-9);
  if (from == rates.workers.begin() || rates.workers.end() - from < 2) return std::nullopt;
  return Saturation{*from, runs[0].per_worker_batch(), best.ceiling, runs[0].machine};
}

}  // namespace

std::vector<Saturation> find_saturation(const std::vector<TrainingRun>& runs) {
  std::map<std::pair<std::string, long>, std::vector<TrainingRun>> groups;  // b in thousandths
  for (const TrainingRun& run : runs) {
    if (!run.iteration_s) continue;
    groups[{run.machine, std::lround(run.per_worker_batch() * 1000)}].push_back(run);
  }
  std::vector<Saturation> found;
  for (const auto& [key, group] : groups) {
    if (const auto one = saturation_of(group)) found.push_back(*one);
  }
  return found;
}

}  // namespace plumber
