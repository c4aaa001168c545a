// SPDX-License-Identifier: Apache-2.0
// Weighted linear least squares, min sum w_i (y_i - x_i c)^2, by Householder QR: the normal
// equations would square the condition of columns such as 1 and B = 1024. What comes with a fit:
//
//   standard error of c_j   sqrt(s^2 (X'WX)^-1_jj), s^2 = RSS / (n - p); none when n = p
//   R^2                     1 - RSS / TSS about the weighted mean
//   leave-one-out error     mean |r_i / (1 - h_i)| / |y_i|, h_i the leverage: the error at a point
//                           that the fit has not seen; none when a point alone carries a
//                           coefficient
#pragma once

#include <optional>
#include <vector>

namespace plumber {

using Matrix = std::vector<std::vector<double>>;  // rows

struct LinearFit {
  std::vector<double> coefficients;
  std::vector<double> standard_errors;  // empty when there are as many points as coefficients
  std::vector<double> residuals;        // y - fitted, in the order of the points
  double r2 = 0;
  std::optional<double> leave_one_out;
};

/// nullopt when the points do not determine the coefficients: fewer points, or dependent columns.
std::optional<LinearFit> least_squares(const Matrix& x, const std::vector<double>& y,
                                       const std::vector<double>& weights = {});

/// The same with coefficients >= 0: of all subsets of columns whose fit is positive, the one with
/// the least squares (columns are few). Columns that are left out have coefficient 0.
std::optional<LinearFit> nonnegative_least_squares(const Matrix& x, const std::vector<double>& y,
                                                   const std::vector<double>& weights = {});

/// Standard errors of the parameters of a law that is not linear, by the Gauss-Newton covariance:
/// sqrt(s^2 (J'J)^-1_jj) with J the residuals' derivatives by parameter. nullopt for a parameter
/// that the points do not tell apart from others, and for all when there are as many as points.
std::vector<std::optional<double>> jacobian_errors(const Matrix& jacobian,
                                                   const std::vector<double>& residuals);

/// Weights 1 / y^2, which turn residuals into relative ones.
std::vector<double> relative_weights(const std::vector<double>& y);

}  // namespace plumber
