// SPDX-License-Identifier: Apache-2.0
// Edits written by hand, and the text of the program that they make of another one.
#pragma once

#include <string>
#include <vector>

#include "program_text.h"
#include "rewrite/apply_plan.h"

namespace plumber {

inline Edit edit(EditKind kind, const std::string& node, EditValue value = {},
                 const std::string& to = "") {
  Edit made;
  made.kind = kind;
  made.node = node;
  made.value = value;
  made.to = to;
  return made;
}

constexpr std::int64_t operator""_calls(unsigned long long value) {
  return static_cast<std::int64_t>(value);
}

inline std::string rewritten(const std::string& program, const std::vector<Edit>& edits) {
  Plan plan;
  plan.edits = edits;
  return describe(apply_plan(program_of(program), plan));
}

// A map with a captured argument in the middle, and a control input that must stay last.
inline const std::string kCaptured = R"(stop = 10
range = RangeDataset(stop) : int64
table = HashTableV2()
offset = 5
calls = 1
map = ParallelMapDatasetV2(range, offset, calls, ^table) Targuments=[int64] deterministic="default" f=@add : int64
batch = BatchDatasetV2(map, calls, calls) : int64[?]
root = _Retval(batch)
def add(x: int64, y: int64) -> z: int64 = sum:z:0
  sum = AddV2(x, y)
)";

}  // namespace plumber
