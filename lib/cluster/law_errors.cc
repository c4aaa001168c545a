// SPDX-License-Identifier: Apache-2.0
// Standard errors of the coefficients of overlap and pollux, which are not linear in them.
// Residuals are those that the fits make small: logarithms of the iteration's time and, where it
// was measured, of compute. A coefficient at the border of what it may be has none: it did not
// follow the points.
#include <algorithm>
#include <cmath>

#include "cluster/iteration_fit.h"
#include "cluster/linear_fit.h"

namespace plumber {
namespace {

constexpr double kStep = 1e-5;  // relative, of the differences
constexpr double kSmallest = 1e-8;
constexpr double kLeastExponent = 1, kMostExponent = 10;

std::vector<double> log_times(const IterationModel& model, const std::vector<TrainingRun>& runs) {
  std::vector<double> logs;
  for (const TrainingRun& run : runs) {
    const IterationTime time = iteration_time(model, placement_of(run));
    logs.push_back(std::log(time.iteration_s));
    if (run.compute_s) logs.push_back(std::log(time.compute_s));
  }
  return logs;
}

std::vector<double> residuals_of(const IterationModel& model,
                                 const std::vector<TrainingRun>& runs) {
  std::vector<double> residuals = log_times(model, runs);
  std::size_t next = 0;
  for (const TrainingRun& run : runs) {
    residuals[next++] -= std::log(*run.iteration_s);
    if (run.compute_s) residuals[next++] -= std::log(*run.compute_s);
  }
  return residuals;
}

bool at_border(const Coefficient& one) {
  if (one.name != "g") return one.value <= kSmallest;
  const double margin = 1e-3;
  return one.value < kLeastExponent + margin || one.value > kMostExponent - margin;
}

// Derivatives by one coefficient, by central differences.
std::vector<double> derivatives(const IterationModel& model, std::size_t coefficient,
                                const std::vector<TrainingRun>& runs) {
  IterationModel higher = model, lower = model;
  const double step = kStep * model.coefficients[coefficient].value;
  higher.coefficients[coefficient].value += step;
  lower.coefficients[coefficient].value -= step;
  std::vector<double> difference = log_times(higher, runs);
  const std::vector<double> below = log_times(lower, runs);
  for (std::size_t i = 0; i < difference.size(); ++i) {
    difference[i] = (difference[i] - below[i]) / (2 * step);
  }
  return difference;
}

}  // namespace

void add_standard_errors(IterationModel& model, const std::vector<TrainingRun>& runs) {
  std::vector<std::size_t> free;
  for (std::size_t j = 0; j < model.coefficients.size(); ++j) {
    if (!at_border(model.coefficients[j])) free.push_back(j);
  }
  const std::vector<double> residuals = residuals_of(model, runs);
  Matrix jacobian(residuals.size());
  for (const std::size_t j : free) {
    const std::vector<double> column = derivatives(model, j, runs);
    for (std::size_t i = 0; i < column.size(); ++i) jacobian[i].push_back(column[i]);
  }
  const auto errors = jacobian_errors(jacobian, residuals);
  for (std::size_t i = 0; i < free.size(); ++i) {
    model.coefficients[free[i]].standard_error = errors[i];
  }
}

}  // namespace plumber
