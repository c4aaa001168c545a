// SPDX-License-Identifier: Apache-2.0
#include "lp/write_lp.h"

#include "catch2_any.h"

namespace plumber {
namespace {

TEST_CASE("a program as text") {
  LinearProgram program;
  program.name = "paper";
  program.sense = Sense::kMaximise;
  const ColumnId rate = add_column(program, {"rate", 0, kInfinity, 1});
  const ColumnId map = add_column(program, {"theta:ParallelMapDatasetV2/_13", 0, 16});
  const ColumnId batch = add_column(program, {"theta:Batch>x", 0.5, 1});
  const ColumnId calls = add_column(program, {"2nd", 1, 8, 0, ColumnKind::kInteger});
  const ColumnId free = add_column(program, {"e1", -kInfinity, kInfinity});
  add_row(program, {"map", {{map, 2.5}, {rate, -1}}, 0, kInfinity});
  add_row(program, {"cores", {{map, 1}, {batch, 1}}, -kInfinity, 16});
  add_row(program, {"both", {{calls, 0.1}, {free, -3}}, 1, 2});
  add_row(program, {"even", {{calls, 1}, {free, 1}}, 4, 4});
  CHECK(write_lp(program) == R"(\ paper
Maximize
 obj: + rate
Subject To
 map: - rate + 2.5 theta_ParallelMapDatasetV2/_13 >= 0
 cores: + theta_ParallelMapDatasetV2/_13 + theta_Batch_x <= 16
 both: + 0.1 _2nd - 3 _e1 <= 2
 both_low: + 0.1 _2nd - 3 _e1 >= 1
 _even: + _2nd + _e1 = 4
Bounds
 theta_ParallelMapDatasetV2/_13 <= 16
 theta_Batch_x >= 0.5
 theta_Batch_x <= 1
 _2nd >= 1
 _2nd <= 8
 _e1 free
Generals
 _2nd
End
)");
}

TEST_CASE("names that become equal stay apart") {
  LinearProgram program;
  add_column(program, {"a>b", 0, kInfinity, 1});
  add_column(program, {"a<b", 0, kInfinity, 1});
  CHECK(write_lp(program) == "\\ \nMinimize\n obj: + a_b + a_b_2\nSubject To\nEnd\n");
}

}  // namespace
}  // namespace plumber
