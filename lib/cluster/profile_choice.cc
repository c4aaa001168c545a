// SPDX-License-Identifier: Apache-2.0
#include "cluster/profile_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "cluster/overlap_times.h"
#include "cluster/seen_placements.h"

namespace plumber {
namespace {

constexpr double kLess = 1 - 1e-9;  // of equals the first is taken: the fewest workers

constexpr std::array kWhy{"fewest workers: what compute takes", "within a machine: its network",
                          "two machines: the network between them",
                          "more than two machines: how the network grows"};

// The most workers on so many machines; 0 when the grid has none on more than `above` of them.
double most_workers(const std::vector<Placement>& grid, double above, double nodes) {
  double most = 0;
  for (const Placement& one : grid) {
    if (one.nodes > above && one.nodes <= nodes) most = std::max(most, one.workers);
  }
  return most;
}

double fewest_workers(const std::vector<Placement>& grid) {
  double fewest = grid[0].workers;
  for (const Placement& one : grid) fewest = std::min(fewest, one.workers);
  return fewest;
}

// How many the grid has of: fewest workers, a full machine, two machines, four, most workers.
std::size_t enough_for(const std::vector<Placement>& grid) {
  std::set<double> workers{fewest_workers(grid), most_workers(grid, 0, INFINITY)};
  for (const double nodes : {1., 2., 4.}) workers.insert(most_workers(grid, nodes / 2, nodes));
  workers.erase(0);
  return workers.size();
}

bool is_same(const Placement& a, const Placement& b) {
  return std::tie(a.workers, a.nodes, a.global_batch) ==
         std::tie(b.workers, b.nodes, b.global_batch);
}

// What is known of the logarithms of the law's coefficients.
struct Knowledge {
  OverlapVector law;  // the coefficients
  OverlapSquare covariance{};
};

double product(const OverlapVector& a, const OverlapVector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kOverlapCoefficients; ++i) sum += a[i] * b[i];
  return sum;
}

OverlapVector product(const OverlapSquare& square, const OverlapVector& vector) {
  OverlapVector result{};
  for (std::size_t i = 0; i < kOverlapCoefficients; ++i) result[i] = product(square[i], vector);
  return result;
}

void learn(OverlapSquare& covariance, const OverlapVector& row) {
  const OverlapVector side = product(covariance, row);
  const double whole = kOverlapScatter * kOverlapScatter + product(row, side);
  for (std::size_t i = 0; i < kOverlapCoefficients; ++i) {
    for (std::size_t j = 0; j < kOverlapCoefficients; ++j)
      covariance[i][j] -= side[i] * side[j] / whole;
  }
}

void learn_profile(Knowledge& known, const Placement& at, bool with_compute) {
  const OverlapTimes times = overlap_times(known.law, at, true);
  learn(known.covariance, times.iteration_row);
  if (with_compute) learn(known.covariance, times.compute_row);
}

Knowledge known_by(const std::vector<TrainingRun>& seen) {
  Knowledge known{most_probable_overlap(seen), {}};
  for (std::size_t i = 0; i < kOverlapCoefficients; ++i) {
    known.covariance[i][i] = kOverlapPriors[i].deviation * kOverlapPriors[i].deviation;
  }
  for (const TrainingRun& run : seen) {
    learn_profile(known, placement_of(run), run.compute_s.value_or(0) > 0);
  }
  return known;
}

// Sum of J J' over the grid: its product with the covariance is the sum of the variances.
OverlapSquare sum_of_squares(const OverlapVector& law, const std::vector<Placement>& grid) {
  OverlapSquare sum{};
  for (const Placement& one : grid) {
    const OverlapVector row = overlap_times(law, one, true).iteration_row;
    for (std::size_t i = 0; i < kOverlapCoefficients; ++i) {
      for (std::size_t j = 0; j < kOverlapCoefficients; ++j) sum[i][j] += row[i] * row[j];
    }
  }
  return sum;
}

// Of the choices the one after which the grid's times are known best.
std::size_t most_telling(const std::vector<Placement>& grid, const std::vector<TrainingRun>& seen,
                         const std::vector<std::size_t>& choices) {
  const Knowledge known = known_by(seen);
  const OverlapSquare squares = sum_of_squares(known.law, grid);
  const bool with_compute = std::any_of(seen.begin(), seen.end(), [](const TrainingRun& run) {
    return run.compute_s.value_or(0) > 0;
  });
  std::size_t best = choices[0];
  double least = INFINITY;
  for (const std::size_t choice : choices) {
    Knowledge after = known;
    learn_profile(after, grid[choice], with_compute);
    double variance = 0;
    for (std::size_t i = 0; i < kOverlapCoefficients; ++i) {
      variance += product(after.covariance[i], squares[i]);
    }
    if (!(variance < kLess * least)) continue;
    least = variance;
    best = choice;
  }
  return best;
}

std::size_t middle_of_fewest(const std::vector<Placement>& grid) {
  const double fewest = fewest_workers(grid);
  std::vector<std::size_t> choices;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if (grid[i].workers == fewest) choices.push_back(i);
  }
  std::stable_sort(choices.begin(), choices.end(), [&](std::size_t a, std::size_t b) {
    return grid[a].global_batch < grid[b].global_batch;
  });
  return choices[choices.size() / 2];
}

std::set<Stretch> stretches_of(const std::vector<Placement>& places) {
  std::set<Stretch> stretches;
  for (const Placement& one : places) stretches.insert(stretch_of(one));
  return stretches;
}

}  // namespace

bool crosses_machines(const std::vector<Placement>& grid) {
  return most_workers(grid, 0, 1) > 0 && most_workers(grid, 1, INFINITY) > 0;
}

std::vector<ProfileChoice> corners_of(const std::vector<Placement>& grid) {
  const auto with = [&](double workers, bool largest) {
    std::size_t found = grid.size();
    for (std::size_t i = 0; i < grid.size(); ++i) {
      if (grid[i].workers == workers && (largest || found == grid.size())) found = i;
    }
    return found;
  };
  const double few = grid.front().workers, many = grid.back().workers;
  return {{with(few, false), "fewest workers, smallest batch, until the noise settles"},
          {with(few, true), "fewest workers, largest batch: noise against batch"},
          {with(many, true), "most workers, largest batch: synchronisation"},
          {with(many, false), "most workers, smallest batch: both together"}};
}

std::optional<ProfileChoice> next_profile(const std::vector<Placement>& grid,
                                          const std::vector<TrainingRun>& seen) {
  if (grid.empty()) return std::nullopt;
  if (seen.empty()) return ProfileChoice{middle_of_fewest(grid), kWhy[0]};
  std::vector<Placement> places;  // profiled, each once
  for (const TrainingRun& run : seen) {
    const Placement at = placement_of(run);
    const auto same = [&](const Placement& one) { return is_same(one, at); };
    if (std::none_of(places.begin(), places.end(), same)) places.push_back(at);
  }
  std::set<Stretch> unseen = stretches_of(grid);
  for (const Stretch stretch : stretches_of(places)) unseen.erase(stretch);
  const std::size_t enough = enough_for(grid);
  const std::size_t left = std::max(enough - std::min(enough, places.size()), unseen.size());
  if (left == 0) return std::nullopt;
  std::vector<std::size_t> choices;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if (left == unseen.size() && !unseen.contains(stretch_of(grid[i]))) continue;
    const auto same = [&](const Placement& one) { return is_same(one, grid[i]); };
    if (std::none_of(places.begin(), places.end(), same)) choices.push_back(i);
  }
  if (choices.empty()) return std::nullopt;
  const std::size_t at = most_telling(grid, seen, choices);
  const Stretch stretch = stretch_of(grid[at]);
  return ProfileChoice{at, unseen.contains(stretch) ? kWhy[static_cast<std::size_t>(stretch)]
                                                    : "it tells most of the whole grid"};
}

}  // namespace plumber
