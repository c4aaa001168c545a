// SPDX-License-Identifier: Apache-2.0
// Programs whose optimum is known by hand or by trying everything.
#include "lp/glpk_solver.h"

#include <random>

#include "base/error.h"
#include "catch2_any.h"

namespace plumber {
namespace {

TEST_CASE("two products, three machines") {
  // maximise 3x + 5y with x <= 4, 2y <= 12, 3x + 2y <= 18: 36 at (2, 6).
  LinearProgram program;
  program.sense = Sense::kMaximise;
  const ColumnId x = add_column(program, {"x", 0, 4, 3});
  const ColumnId y = add_column(program, {"y", 0, kInfinity, 5});
  add_row(program, {"second", {{y, 2}}, -kInfinity, 12});
  add_row(program, {"third", {{x, 3}, {y, 2}}, -kInfinity, 18});
  const Solution solution = solve(program);
  REQUIRE(solution.status == SolveStatus::kOptimal);
  CHECK(solution.objective == Approx(36));
  CHECK(solution[x] == Approx(2));
  CHECK(solution[y] == Approx(6));
}

TEST_CASE("nothing fits") {
  LinearProgram program;
  const ColumnId x = add_column(program, {"x", 0, 1, 1});
  add_row(program, {"low", {{x, 1}}, 2, kInfinity});
  CHECK(solve(program).status == SolveStatus::kInfeasible);
  program.columns[0].kind = ColumnKind::kInteger;
  CHECK(solve(program).status == SolveStatus::kInfeasible);
}

TEST_CASE("no integer lies between the bounds") {
  LinearProgram program;
  const ColumnId x = add_column(program, {"x", 0, 5, 1, ColumnKind::kInteger});
  add_row(program, {"between", {{x, 3}}, 4, 5});
  CHECK(solve(program).status == SolveStatus::kInfeasible);
}

TEST_CASE("nothing stops the objective") {
  LinearProgram program;
  program.sense = Sense::kMaximise;
  add_column(program, {"x", 0, kInfinity, 1});
  CHECK(solve(program).status == SolveStatus::kUnbounded);
}

struct Knapsack {
  std::vector<int> value, weight;
  int capacity = 0;
};

Knapsack random_knapsack(std::mt19937& random, std::size_t items) {
  Knapsack sack;
  int total = 0;
  for (std::size_t i = 0; i < items; ++i) {
    sack.value.push_back(static_cast<int>(random() % 40) + 1);
    sack.weight.push_back(static_cast<int>(random() % 30) + 1);
    total += sack.weight.back();
  }
  sack.capacity = total / 2;
  return sack;
}

LinearProgram program_of(const Knapsack& sack) {
  LinearProgram program;
  program.sense = Sense::kMaximise;
  Row weight{"weight", {}, -kInfinity, static_cast<double>(sack.capacity)};
  for (std::size_t i = 0; i < sack.value.size(); ++i) {
    const ColumnId take = add_binary(program, "take_" + std::to_string(i));
    program.columns.back().cost = sack.value[i];
    weight.terms.push_back({take, static_cast<double>(sack.weight[i])});
  }
  add_row(program, weight);
  return program;
}

int best_by_trying(const Knapsack& sack) {
  int best = 0;
  for (unsigned set = 0; set < 1U << sack.value.size(); ++set) {
    int value = 0, weight = 0;
    for (std::size_t i = 0; i < sack.value.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      value += sack.value[i];
      weight += sack.weight[i];
    }
    if (weight <= sack.capacity) best = std::max(best, value);
  }
  return best;
}

TEST_CASE("knapsacks equal exhaustive search, and the same program gives the same solution") {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    const Knapsack sack = random_knapsack(random, 10);
    const LinearProgram program = program_of(sack);
    const Solution solution = solve(program);
    REQUIRE(solution.status == SolveStatus::kOptimal);
    CHECK(solution.objective == Approx(best_by_trying(sack)));
    CHECK(relative_gap(solution) == 0);
    CHECK(solve(program) == solution);
  }
}

TEST_CASE("a search that is cut short says so and gives a bound") {
  std::mt19937 random(1);
  Knapsack sack;  // values that follow the weights make a long search
  for (int i = 0; i < 40; ++i) {
    sack.weight.push_back(static_cast<int>(random() % 1000) + 1);
    sack.value.push_back(sack.weight.back() + 50);
    sack.capacity += sack.weight.back();
  }
  sack.capacity /= 2;
  const Solution whole = solve(program_of(sack));
  const Solution cut = solve(program_of(sack), {1, 0});
  CHECK(cut.status != SolveStatus::kOptimal);
  CHECK(cut.bound >= whole.objective - 1e-6);
  if (fits(cut)) CHECK(cut.objective <= whole.objective + 1e-6);
}

TEST_CASE("an unusable program is an error, not the end of the process") {
  CHECK_THROWS_AS(solve(LinearProgram{}), Error);
}

}  // namespace
}  // namespace plumber
