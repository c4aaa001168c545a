// SPDX-License-Identifier: Apache-2.0
// A LinearProgram as text in the CPLEX LP format, for people and for other solvers:
//
//   \ paper
//   Maximize
//    obj: + rate
//   Subject To
//    cores: + theta_map + theta_batch <= 16
//   ...
//   End
//
// Characters that the format does not allow in names become '_'.
#pragma once

#include <string>

#include "lp/linear_program.h"

namespace plumber {

/// Same program, same bytes. Numbers have nine significant digits.
std::string write_lp(const LinearProgram& program);

}  // namespace plumber
