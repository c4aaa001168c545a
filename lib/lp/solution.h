// SPDX-License-Identifier: Apache-2.0
// What a solver says of a LinearProgram.
#pragma once

#include <string>
#include <vector>

#include "lp/linear_program.h"

namespace plumber {

enum class SolveStatus {
  kOptimal,     // proven, within the gap that was asked for
  kFeasible,    // the search was cut short: `values` fit, `bound` says how far they may be off
  kInfeasible,  // proven that nothing fits
  kUnbounded,
  kUnknown,  // the search was cut short before anything fitting was found
};

struct Solution {
  SolveStatus status = SolveStatus::kUnknown;
  double objective = 0;
  double bound = 0;            // no solution is better than this
  std::vector<double> values;  // one for each column; empty unless something fits
  int search_nodes = 0;        // of the tree over the integer columns

  double operator[](ColumnId column) const { return values[index_of(column)]; }
  bool operator==(const Solution&) const = default;
};

/// How far to search. Never a time: the same program must give the same answer everywhere.
struct SolveLimits {
  int search_nodes = 2000;
  double relative_gap = 1e-7;
};

constexpr bool fits(const Solution& solution) {
  return solution.status == SolveStatus::kOptimal || solution.status == SolveStatus::kFeasible;
}

/// |objective - bound| relative to the objective; 0 when proven.
double relative_gap(const Solution& solution);

}  // namespace plumber
