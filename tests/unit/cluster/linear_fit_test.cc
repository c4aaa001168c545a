// SPDX-License-Identifier: Apache-2.0
#include "cluster/linear_fit.h"

#include "catch2_any.h"

using namespace plumber;

TEST_CASE("A straight line with its standard errors") {
  // y = 1 + 2 x with residuals +-0.1; the numbers are R's lm().
  const auto fit = least_squares({{1, 0}, {1, 1}, {1, 2}, {1, 3}}, {1.1, 2.9, 4.9, 7.1});
  REQUIRE(fit);
  CHECK(fit->coefficients[0] == Approx(1.0).epsilon(1e-12));
  CHECK(fit->coefficients[1] == Approx(2.0).epsilon(1e-12));
  CHECK(fit->r2 == Approx(1 - 0.04 / 20.04).epsilon(1e-12));
  CHECK(fit->standard_errors[0] == Approx(0.1183216).epsilon(1e-6));
  CHECK(fit->standard_errors[1] == Approx(0.06324555).epsilon(1e-6));
}

TEST_CASE("The leave-one-out error is that of refitting without each point") {
  const Matrix x{{1, 0}, {1, 1}, {1, 2}, {1, 4}};
  const std::vector<double> y{1, 2.5, 4.5, 10};
  double sum = 0;
  for (std::size_t left = 0; left < y.size(); ++left) {
    Matrix others = x;
    std::vector<double> values = y;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left));
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(left));
    const auto c = least_squares(others, values)->coefficients;
    sum += std::abs(y[left] - c[0] - c[1] * x[left][1]) / y[left];
  }
  CHECK(*least_squares(x, y)->leave_one_out == Approx(sum / 4).epsilon(1e-9));
}

TEST_CASE("What is not determined is not fitted") {
  CHECK_FALSE(least_squares({{1, 2}}, {3}));
  CHECK_FALSE(least_squares({{1, 5}, {1, 5}, {1, 5}}, {1, 2, 3}));
  const auto exact = least_squares({{1, 384}, {1, 1024}}, {2, 3});
  REQUIRE(exact);
  CHECK(exact->standard_errors.empty());
  CHECK_FALSE(exact->leave_one_out.has_value());
}

TEST_CASE("Negative coefficients can be forbidden") {
  const auto fit = nonnegative_least_squares({{1, 1}, {1, 2}, {1, 3}}, {3, 2, 1});
  REQUIRE(fit);
  CHECK(fit->coefficients[0] == Approx(2));
  CHECK(fit->coefficients[1] == 0);
}
