// SPDX-License-Identifier: Apache-2.0
#include "cluster/linear_fit.h"

#include <cmath>
#include <cstddef>

namespace plumber {
namespace {

constexpr double kRankTolerance = 1e-10;  // of a column's own length

double length_below(const Matrix& a, std::size_t column, std::size_t from) {
  double sum = 0;
  for (std::size_t i = from; i < a.size(); ++i) sum += a[i][column] * a[i][column];
  return std::sqrt(sum);
}

// Reflects rows from `j` on so that column j of `a` vanishes below the diagonal; the same on `b`.
void reflect(Matrix& a, std::vector<double>& b, std::size_t j) {
  const double length = length_below(a, j, j);
  std::vector<double> v(a.size(), 0);
  for (std::size_t i = j; i < a.size(); ++i) v[i] = a[i][j];
  v[j] += v[j] < 0 ? -length : length;
  double norm = 0;
  for (std::size_t i = j; i < a.size(); ++i) norm += v[i] * v[i];
  if (norm == 0) return;
  for (std::size_t column = j; column < a[0].size(); ++column) {
    double dot = 0;
    for (std::size_t i = j; i < a.size(); ++i) dot += v[i] * a[i][column];
    for (std::size_t i = j; i < a.size(); ++i) a[i][column] -= 2 * dot / norm * v[i];
  }
  double dot = 0;
  for (std::size_t i = j; i < a.size(); ++i) dot += v[i] * b[i];
  for (std::size_t i = j; i < a.size(); ++i) b[i] -= 2 * dot / norm * v[i];
}

// Solves R c = b for the upper triangle of `r`.
std::vector<double> back_substitute(const Matrix& r, const std::vector<double>& b, std::size_t p) {
  std::vector<double> c(p);
  for (std::size_t j = p; j-- > 0;) {
    double sum = b[j];
    for (std::size_t k = j + 1; k < p; ++k) sum -= r[j][k] * c[k];
    c[j] = sum / r[j][j];
  }
  return c;
}

// z with R' z = x.
std::vector<double> forward_substitute(const Matrix& r, const std::vector<double>& x) {
  std::vector<double> z(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    double sum = x[j];
    for (std::size_t k = 0; k < j; ++k) sum -= r[k][j] * z[k];
    z[j] = sum / r[j][j];
  }
  return z;
}

double squared(const std::vector<double>& v) {
  double sum = 0;
  for (const double value : v) sum += value * value;
  return sum;
}

double dot_of(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// X and y scaled by the square roots of the weights, and the triangle of X.
struct Factored {
  Matrix x;
  std::vector<double> y;
  std::vector<double> roots;
  Matrix r;
  std::vector<double> rotated;
};

std::optional<Factored> factor(const Matrix& x, const std::vector<double>& y,
                               const std::vector<double>& weights) {
  if (x.empty() || x.size() < x[0].size()) return std::nullopt;
  Factored f{x, y, {}, {}, {}};
  for (std::size_t i = 0; i < x.size(); ++i) {
    f.roots.push_back(weights.empty() ? 1 : std::sqrt(weights[i]));
    for (double& value : f.x[i]) value *= f.roots[i];
    f.y[i] *= f.roots[i];
  }
  f.r = f.x;
  f.rotated = f.y;
  for (std::size_t j = 0; j < x[0].size(); ++j) {
    const double whole = length_below(f.x, j, 0);
    if (length_below(f.r, j, j) <= kRankTolerance * whole) return std::nullopt;
    reflect(f.r, f.rotated, j);
  }
  return f;
}

double total_squares(const Factored& f) {
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < f.y.size(); ++i) {
    sum += f.roots[i] * f.y[i];
    weight += f.roots[i] * f.roots[i];
  }
  const double mean = sum / weight;
  double total = 0;
  for (std::size_t i = 0; i < f.y.size(); ++i) {
    total += (f.y[i] - f.roots[i] * mean) * (f.y[i] - f.roots[i] * mean);
  }
  return total;
}

// s^2 (X'WX)^-1_jj is s^2 times the squared length of the solution of R' z = e_j.
std::vector<double> standard_errors(const Factored& f, double rss) {
  const std::size_t n = f.x.size(), p = f.x[0].size();
  std::vector<double> errors;
  if (n == p) return errors;
  for (std::size_t j = 0; j < p; ++j) {
    std::vector<double> unit(p, 0);
    unit[j] = 1;
    const double variance =
        rss / static_cast<double>(n - p) * squared(forward_substitute(f.r, unit));
    errors.push_back(std::sqrt(variance));
  }
  return errors;
}

std::optional<double> leave_one_out(const Factored& f, const std::vector<double>& residuals) {
  double sum = 0;
  for (std::size_t i = 0; i < f.x.size(); ++i) {
    const double leverage = squared(forward_substitute(f.r, f.x[i]));
    const double y = f.y[i] / f.roots[i];
    if (leverage > 1 - 1e-9 || y == 0) return std::nullopt;
    sum += std::abs(residuals[i] / (1 - leverage) / y);
  }
  return sum / static_cast<double>(f.x.size());
}

Matrix columns_of(const Matrix& x, const std::vector<std::size_t>& columns) {
  Matrix chosen;
  for (const auto& row : x) {
    chosen.emplace_back();
    for (const std::size_t j : columns) chosen.back().push_back(row[j]);
  }
  return chosen;
}

// A largest set of columns that do not depend on each other, without column `left_out`.
std::vector<std::size_t> independent_columns(const Matrix& x, std::size_t left_out) {
  std::vector<std::size_t> chosen;
  const std::vector<double> nothing(x.size(), 0);
  for (std::size_t j = 0; !x.empty() && j < x[0].size(); ++j) {
    if (j == left_out) continue;
    chosen.push_back(j);
    if (!factor(columns_of(x, chosen), nothing, {})) chosen.pop_back();
  }
  return chosen;
}

// The columns whose bit is set.
Matrix columns_of(const Matrix& x, unsigned subset) {
  Matrix chosen;
  for (const auto& row : x) {
    std::vector<double> kept;
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (subset >> j & 1U) kept.push_back(row[j]);
    }
    chosen.push_back(kept);
  }
  return chosen;
}

double weighted_squares(const LinearFit& fit, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < fit.residuals.size(); ++i) {
    sum += (weights.empty() ? 1 : weights[i]) * fit.residuals[i] * fit.residuals[i];
  }
  return sum;
}

LinearFit spread(const LinearFit& fit, unsigned subset, std::size_t columns) {
  LinearFit whole = fit;
  whole.coefficients.assign(columns, 0);
  if (!fit.standard_errors.empty()) whole.standard_errors.assign(columns, 0);
  std::size_t next = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    if (!(subset >> j & 1U)) continue;
    whole.coefficients[j] = fit.coefficients[next];
    if (!fit.standard_errors.empty()) whole.standard_errors[j] = fit.standard_errors[next];
    ++next;
  }
  return whole;
}

}  // namespace

std::optional<LinearFit> least_squares(const Matrix& x, const std::vector<double>& y,
                                       const std::vector<double>& weights) {
  const auto f = factor(x, y, weights);
  if (!f) return std::nullopt;
  LinearFit fit;
  fit.coefficients = back_substitute(f->r, f->rotated, x[0].size());
  double rss = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    fit.residuals.push_back(y[i] - dot_of(x[i], fit.coefficients));
    rss += std::pow(f->roots[i] * fit.residuals[i], 2);
  }
  const double total = total_squares(*f);
  fit.r2 = total > 0 ? 1 - rss / total : 1;
  fit.standard_errors = standard_errors(*f, rss);
  fit.leave_one_out = leave_one_out(*f, fit.residuals);
  return fit;
}

std::optional<LinearFit> nonnegative_least_squares(const Matrix& x, const std::vector<double>& y,
                                                   const std::vector<double>& weights) {
  if (x.empty()) return std::nullopt;
  std::optional<LinearFit> best;
  double least = 0;
  const std::size_t columns = x[0].size();
  for (unsigned subset = (1U << columns) - 1; subset > 0; --subset) {
    const auto fit = least_squares(columns_of(x, subset), y, weights);
    if (!fit) continue;
    bool positive = true;
    for (const double c : fit->coefficients) positive = positive && c >= 0;
    const double squares = weighted_squares(*fit, weights);
    if (!positive || (best && squares >= least)) continue;
    least = squares;
    best = spread(*fit, subset, columns);
  }
  return best;
}

std::vector<std::optional<double>> jacobian_errors(const Matrix& jacobian,
                                                   const std::vector<double>& residuals) {
  const std::size_t columns = jacobian.empty() ? 0 : jacobian[0].size();
  std::vector<std::optional<double>> errors(columns);
  const std::size_t rank = independent_columns(jacobian, columns).size();
  if (jacobian.size() <= rank) return errors;
  const double rss = squared(residuals);
  for (std::size_t j = 0; j < columns; ++j) {
    std::vector<std::size_t> others = independent_columns(jacobian, j);
    if (others.size() == rank) continue;  // the others tell all that it tells
    others.push_back(j);
    const auto f = factor(columns_of(jacobian, others), residuals, {});
    const double error = f ? standard_errors(*f, rss).back() : NAN;
    if (std::isfinite(error)) errors[j] = error;
  }
  return errors;
}

std::vector<double> relative_weights(const std::vector<double>& y) {
  std::vector<double> weights;
  for (const double value : y) weights.push_back(1 / (value * value));
  return weights;
}

}  // namespace plumber
