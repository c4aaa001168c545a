// SPDX-License-Identifier: Apache-2.0
// Solves a LinearProgram with GLPK: the simplex method, then branch and bound over the integer
// columns. The program is validated first, because GLPK ends the process on a bad index.
#pragma once

#include "lp/linear_program.h"
#include "lp/solution.h"

namespace plumber {

/// Deterministic, silent, and free of state between calls.
Solution solve(const LinearProgram& program, const SolveLimits& limits = {});

}  // namespace plumber
