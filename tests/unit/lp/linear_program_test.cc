// SPDX-License-Identifier: Apache-2.0
#include "lp/linear_program.h"

#include <limits>

#include "base/error.h"
#include "catch2_any.h"

namespace plumber {
namespace {

LinearProgram two_columns() {
  LinearProgram program;
  program.name = "small";
  const ColumnId x = add_column(program, {"x"});
  const ColumnId y = add_binary(program, "y");
  add_row(program, {"sum", {{x, 1}, {y, 2}}, 0, 3});
  return program;
}

TEST_CASE("terms of one column are added up and cancelled ones vanish") {
  LinearProgram program;
  const ColumnId x = add_column(program, {"x"});
  const ColumnId y = add_column(program, {"y"});
  add_row(program, {"r", {{y, 1}, {x, 2}, {x, 3}, {y, -1}}, 0, 1});
  CHECK(program.rows[0].terms == std::vector<Term>{{x, 5}});
}

TEST_CASE("a usable program is accepted") {
  const LinearProgram program = two_columns();
  CHECK_NOTHROW(validate(program));
  CHECK(has_integers(program));
}

TEST_CASE("a program that GLPK would stumble over is refused before it gets there") {
  LinearProgram program = two_columns();
  SECTION("no columns") { program = LinearProgram{}; }
  SECTION("a column out of range") {
    program.rows[0].terms.push_back({static_cast<ColumnId>(7), 1});
  }
  SECTION("a negative column") { program.rows[0].terms[0].column = static_cast<ColumnId>(-1); }
  SECTION("a column twice in a row") { program.rows[0].terms.push_back(program.rows[0].terms[0]); }
  SECTION("crossed bounds") { program.columns[0].upper = -1; }
  SECTION("a bound that is no number") {
    program.rows[0].lower = std::numeric_limits<double>::quiet_NaN();
  }
  SECTION("an infinite coefficient") { program.rows[0].terms[0].coefficient = kInfinity; }
  SECTION("an infinite cost") { program.columns[0].cost = kInfinity; }
  SECTION("a name twice") { program.columns[1].name = "x"; }
  SECTION("no name") { program.rows[0].name.clear(); }
  CHECK_THROWS_AS(validate(program), Error);
}

}  // namespace
}  // namespace plumber
