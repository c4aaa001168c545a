// SPDX-License-Identifier: Apache-2.0
// The overlap law fitted to runs: the coefficients that are most probable given the runs and the
// prior of overlap_prior.h (maximum a posteriori), which are those that make least
//
//   sum (ln tau - ln measured)^2 / 0.08^2 + sum (ln Tc - ln measured)^2 / 0.08^2
//     + sum (ln c_j - ln expected_j)^2 / deviation_j^2
//
// with g in 1..10, by Levenberg and Marquardt's method in the logarithms of the coefficients.
#include <algorithm>
#include <cmath>

#include "cluster/linear_fit.h"
#include "cluster/overlap_times.h"
#include "cluster/seen_placements.h"

namespace plumber {
namespace {

constexpr int kMostSteps = 60;
constexpr double kConverged = 1e-9;  // relative, of the squares
constexpr double kFirstDamping = 1e-2, kMostDamping = 1e8;
constexpr double kMostExponent = 10;  // the least is 1, whose logarithm is 0

// What the fit needs of a run.
struct Point {
  Placement at;
  double log_iteration = 0;
  std::optional<double> log_compute;
};

struct Problem {
  std::vector<Point> points;
  bool two_nodes = false;  // some run shows them
  OverlapVector expected;  // logarithms
};

// Squares, and what a step needs: J'J and J'r.
struct Normal {
  double squares = 0;
  OverlapSquare square{};
  OverlapVector gradient{};

  void add(double residual, const OverlapVector& row, double weight) {
    squares += weight * residual * residual;
    for (std::size_t i = 0; i < kOverlapCoefficients; ++i) {
      gradient[i] += weight * row[i] * residual;
      for (std::size_t j = 0; j <= i; ++j) square[i][j] += weight * row[i] * row[j];
    }
  }
};

void add_point(const Problem& problem, const OverlapVector& c, const Point& point, Normal& normal) {
  constexpr double kWeight = 1 / (kOverlapScatter * kOverlapScatter);
  const OverlapTimes times = overlap_times(c, point.at, problem.two_nodes);
  if (point.log_compute) {
    normal.add(times.log_compute - *point.log_compute, times.compute_row, kWeight);
  }
  normal.add(times.log_iteration - point.log_iteration, times.iteration_row, kWeight);
}

Normal normal_at(const Problem& problem, const OverlapVector& logs) {
  OverlapVector c{};
  for (std::size_t i = 0; i < kOverlapCoefficients; ++i) c[i] = std::exp(logs[i]);
  Normal normal;
  for (const Point& point : problem.points) add_point(problem, c, point, normal);
  for (std::size_t i = 0; i < kOverlapCoefficients; ++i) {
    OverlapVector row{};
    row[i] = 1;
    const double deviation = kOverlapPriors[i].deviation;
    normal.add(logs[i] - problem.expected[i], row, 1 / (deviation * deviation));
  }
  return normal;
}

// -(A + damping diag A)^-1 gradient, by Cholesky's decomposition; the prior makes A definite.
OverlapVector step_of(const Normal& normal, double damping) {
  OverlapSquare l{};
  OverlapVector x{};
  for (std::size_t i = 0; i < kOverlapCoefficients; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = normal.square[i][j] * (i == j ? 1 + damping : 1);
      for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
    }
    double sum = -normal.gradient[i];
    for (std::size_t k = 0; k < i; ++k) sum -= l[i][k] * x[k];
    x[i] = sum / l[i][i];
  }
  for (std::size_t i = kOverlapCoefficients; i-- > 0;) {
    for (std::size_t k = i + 1; k < kOverlapCoefficients; ++k) x[i] -= l[k][i] * x[k];
    x[i] /= l[i][i];
  }
  return x;
}

// The exponent at its border stays there while the runs pull it beyond.
void hold_exponent(Normal& normal, const OverlapVector& logs) {
  const bool pulled_down = logs[kExponent] <= 0 && normal.gradient[kExponent] > 0;
  const bool pulled_up =
      logs[kExponent] >= std::log(kMostExponent) && normal.gradient[kExponent] < 0;
  if (!pulled_down && !pulled_up) return;
  normal.gradient[kExponent] = 0;
  normal.square[kExponent] = {};
  normal.square[kExponent][kExponent] = 1;
}

// One step downhill from `logs`; false once there is none worth taking.
bool descend(const Problem& problem, OverlapVector& logs, Normal& normal, double& damping) {
  hold_exponent(normal, logs);
  for (; damping < kMostDamping; damping *= 4) {
    OverlapVector next = step_of(normal, damping);
    for (std::size_t i = 0; i < kOverlapCoefficients; ++i) next[i] += logs[i];
    next[kExponent] = std::clamp(next[kExponent], 0.0, std::log(kMostExponent));
    const Normal there = normal_at(problem, next);
    if (!(there.squares < normal.squares)) continue;
    const bool worth = normal.squares - there.squares > kConverged * there.squares;
    logs = next;
    normal = there;
    damping = std::max(damping / 5, 1e-9);
    return worth;
  }
  return false;
}

// The profile that the prior is a share of: fewest workers, then the smallest batch.
const TrainingRun& reference_of(const std::vector<TrainingRun>& runs) {
  return *std::min_element(
      runs.begin(), runs.end(), [](const TrainingRun& a, const TrainingRun& b) {
        return std::pair(a.workers, a.global_batch) < std::pair(b.workers, b.global_batch);
      });
}

Problem problem_of(const std::vector<TrainingRun>& runs) {
  Problem problem;
  for (const TrainingRun& run : runs) {
    const double nodes = placement_of(run).nodes;
    Point point{placement_of(run), std::log(*run.iteration_s), {}};
    if (run.compute_s.value_or(0) > 0) point.log_compute = std::log(*run.compute_s);
    problem.points.push_back(point);
    problem.two_nodes = problem.two_nodes || (run.workers > 1 && nodes > 1 && nodes <= 2);
  }
  problem.expected = expected_coefficients(reference_of(runs));
  for (double& one : problem.expected) one = std::log(one);
  return problem;
}

// Downhill from `logs`.
OverlapVector least_squares_near(const Problem& problem, OverlapVector logs) {
  Normal normal = normal_at(problem, logs);
  double damping = kFirstDamping;
  for (int step = 0; step < kMostSteps; ++step) {
    if (!descend(problem, logs, normal, damping)) break;
  }
  return logs;
}

IterationModel model_of(const OverlapVector& logs, const Problem& problem,
                        const std::vector<TrainingRun>& runs) {
  IterationModel model{IterationLaw::kOverlap, {}, 0};
  for (std::size_t i = 0; i < kOverlapCoefficients; ++i) {
    if (i == kTwoNodes && !problem.two_nodes) continue;
    model.coefficients.push_back({kOverlapPriors[i].name, std::exp(logs[i]), {}});
  }
  keep_what_runs_tell(model, runs);
  return model;
}

std::string what_is_missing(const std::vector<TrainingRun>& runs) {
  Matrix batches;
  bool placed = false, across = false;
  for (const TrainingRun& run : runs) {
    if (run.compute_s || run.workers == 1) batches.push_back({1, run.per_worker_batch()});
    placed = placed || run.nodes;
    across = across || (run.workers > 1 && placement_of(run).nodes > 1);
  }
  if (!least_squares(batches, std::vector<double>(batches.size(), 0))) {
    return "needs compute_s (or runs of one worker) at two batches per worker";
  }
  if (!placed) return "needs the nodes that the workers share (column nodes)";
  if (!across) return "needs a run across nodes";
  return "";
}

}  // namespace

OverlapVector expected_coefficients(const TrainingRun& profile) {
  const bool measured = profile.compute_s.value_or(0) > 0;
  const double compute_s = measured ? *profile.compute_s : *profile.iteration_s;
  OverlapVector expected{};
  for (std::size_t i = 0; i < kOverlapCoefficients; ++i) {
    expected[i] = kOverlapPriors[i].share * (i == kExponent ? 1 : compute_s);
  }
  expected[kPerSample] /= profile.per_worker_batch();
  return expected;
}

std::optional<IterationModel> fit_overlap(const std::vector<TrainingRun>& runs,
                                          const std::optional<IterationModel>& near,
                                          std::string& why) {
  why = what_is_missing(runs);
  if (!why.empty()) return std::nullopt;
  const Problem problem = problem_of(runs);
  OverlapVector logs = problem.expected;
  for (std::size_t i = 0; near && i < kOverlapCoefficients; ++i) {
    const double value = near->value(kOverlapPriors[i].name);
    if (value > 0) logs[i] = std::log(value);
  }
  return model_of(least_squares_near(problem, logs), problem, runs);
}

OverlapVector most_probable_overlap(const std::vector<TrainingRun>& runs) {
  const Problem problem = problem_of(runs);
  OverlapVector coefficients = least_squares_near(problem, problem.expected);
  for (double& one : coefficients) one = std::exp(one);
  return coefficients;
}

}  // namespace plumber
