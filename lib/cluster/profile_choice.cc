// SPDX-License-Identifier: Apache-2.0
#include "cluster/profile_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "cluster/overlap_prior.h"

namespace plumber {
namespace {

constexpr double kStep = 1e-3;  // relative, of the derivatives
constexpr std::size_t kCoefficients = kOverlapCoefficients;

struct Stretch {
  double workers;
  const char* why;
};

// The most workers on so many machines; 0 when the grid has none on more than `above` of them.
double most_workers(const std::vector<Placement>& grid, double above, double nodes) {
  double most = 0;
  for (const Placement& one : grid) {
    if (one.nodes > above && one.nodes <= nodes) most = std::max(most, one.workers);
  }
  return most;
}

std::vector<Stretch> stretches_of(const std::vector<Placement>& grid) {
  double fewest = grid[0].workers, most = 0;
  for (const Placement& one : grid) {
    fewest = std::min(fewest, one.workers);
    most = std::max(most, one.workers);
  }
  return {{fewest, "fewest workers: what compute takes"},
          {most_workers(grid, 0, 1), "a full machine: the network within it"},
          {most_workers(grid, 1, 2), "two machines: the network between them"},
          {most_workers(grid, 2, 4), "four machines: how the network grows"},
          {most, "most workers: how far it grows"}};
}

// The law as far as the profiles tell it, no coefficient zero: its logarithm is what varies.
IterationModel law_so_far(const std::vector<TrainingRun>& seen) {
  std::string why;
  const auto fit = fit_overlap_roughly(seen, why);
  bool within = false, across = false;
  for (const TrainingRun& run : seen) {
    const double nodes = placement_of(run).nodes;
    within = within || (run.workers > 1 && nodes <= 1);
    across = across || nodes > 2;
  }
  const OverlapVector expected = expected_coefficients(seen[0]);
  IterationModel model{IterationLaw::kOverlap, {}, 0};
  for (std::size_t i = 0; i < kCoefficients; ++i) {
    const std::string name = kOverlapPriors[i].name;
    const bool told = (name != "in_node" || within) && (name != "across_log2" || across);
    const auto fitted = fit && told ? fit->coefficient(name) : std::nullopt;
    model.coefficients.push_back(
        {name, fitted ? std::max(*fitted, 0.01 * expected[i]) : expected[i], {}});
  }
  return model;
}

OverlapVector derivatives(const IterationModel& model, const Placement& at,
                          double IterationTime::*part) {
  OverlapVector result{};
  for (std::size_t i = 0; i < kCoefficients; ++i) {
    IterationModel higher = model, lower = model;
    higher.coefficients[i].value *= 1 + kStep;
    lower.coefficients[i].value *= 1 - kStep;
    result[i] =
        std::log(iteration_time(higher, at).*part / iteration_time(lower, at).*part) / (2 * kStep);
  }
  return result;
}

double product(const OverlapVector& a, const OverlapVector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kCoefficients; ++i) sum += a[i] * b[i];
  return sum;
}

OverlapVector product(const OverlapSquare& square, const OverlapVector& vector) {
  OverlapVector result{};
  for (std::size_t i = 0; i < kCoefficients; ++i) result[i] = product(square[i], vector);
  return result;
}

void learn(OverlapSquare& covariance, const OverlapVector& derivative) {
  const OverlapVector side = product(covariance, derivative);
  const double whole = kOverlapScatter * kOverlapScatter + product(derivative, side);
  for (std::size_t i = 0; i < kCoefficients; ++i) {
    for (std::size_t j = 0; j < kCoefficients; ++j) covariance[i][j] -= side[i] * side[j] / whole;
  }
}

OverlapSquare after_profile(OverlapSquare covariance, const IterationModel& model,
                            const Placement& at, bool with_compute) {
  learn(covariance, derivatives(model, at, &IterationTime::iteration_s));
  if (with_compute) learn(covariance, derivatives(model, at, &IterationTime::compute_s));
  return covariance;
}

OverlapSquare covariance_of(const IterationModel& model, const std::vector<TrainingRun>& seen) {
  OverlapSquare covariance{};
  for (std::size_t i = 0; i < kCoefficients; ++i) {
    covariance[i][i] = kOverlapPriors[i].deviation * kOverlapPriors[i].deviation;
  }
  for (const TrainingRun& run : seen) {
    covariance = after_profile(covariance, model, placement_of(run), run.compute_s.has_value());
  }
  return covariance;
}

// Of the choices the one after which the grid's times are known best.
std::size_t most_telling(const std::vector<Placement>& grid, const std::vector<TrainingRun>& seen,
                         const std::vector<std::size_t>& choices) {
  const IterationModel model = law_so_far(seen);
  const OverlapSquare covariance = covariance_of(model, seen);
  std::vector<OverlapVector> all;
  for (const Placement& one : grid) {
    all.push_back(derivatives(model, one, &IterationTime::iteration_s));
  }
  std::size_t best = choices[0];
  double least = INFINITY;
  for (const std::size_t choice : choices) {
    const OverlapSquare after =
        after_profile(covariance, model, grid[choice], seen[0].compute_s.has_value());
    double variance = 0;
    for (const OverlapVector& one : all) variance += product(one, product(after, one));
    if (variance >= least) continue;
    least = variance;
    best = choice;
  }
  return best;
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
  std::set<double> profiled{0};
  for (const TrainingRun& run : seen) profiled.insert(run.workers);
  for (const Stretch& stretch : stretches_of(grid)) {
    if (profiled.contains(stretch.workers)) continue;
    std::vector<std::size_t> choices;
    for (std::size_t i = 0; i < grid.size(); ++i) {
      if (grid[i].workers == stretch.workers) choices.push_back(i);
    }
    std::stable_sort(choices.begin(), choices.end(), [&](std::size_t a, std::size_t b) {
      return grid[a].global_batch < grid[b].global_batch;
    });
    const std::size_t at =
        seen.empty() ? choices[choices.size() / 2] : most_telling(grid, seen, choices);
    return ProfileChoice{at, stretch.why};
  }
  return std::nullopt;
}

}  // namespace plumber
