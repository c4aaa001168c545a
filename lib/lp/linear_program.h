// SPDX-License-Identifier: Apache-2.0
// A linear or mixed-integer program as a plain value, independent of any solver:
//
//   minimise (or maximise)  sum_j c_j x_j
//   subject to              lower_r <= sum_j a_rj x_j <= upper_r,   lower_j <= x_j <= upper_j,
//                           x_j integer where its kind says so.
//
// Columns and rows are named, so that a program can be read (write_lp.h) and a solution explained.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace plumber {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class ColumnId : std::int32_t {};
constexpr std::size_t index_of(ColumnId id) { return static_cast<std::size_t>(id); }

enum class ColumnKind { kContinuous, kInteger };
enum class Sense { kMinimise, kMaximise };

struct Column {
  std::string name;
  double lower = 0;
  double upper = kInfinity;
  double cost = 0;  // its coefficient in the objective
  ColumnKind kind = ColumnKind::kContinuous;
  bool operator==(const Column&) const = default;
};

struct Term {
  ColumnId column{};
  double coefficient = 0;
  bool operator==(const Term&) const = default;
};

struct Row {
  std::string name;
  std::vector<Term> terms;
  double lower = -kInfinity;
  double upper = kInfinity;
  bool operator==(const Row&) const = default;
};

struct LinearProgram {
  std::string name;
  Sense sense = Sense::kMinimise;
  std::vector<Column> columns;
  std::vector<Row> rows;
  bool operator==(const LinearProgram&) const = default;
};

/// Appends a column and returns its index.
ColumnId add_column(LinearProgram& program, Column column);

/// Appends a 0/1 column.
ColumnId add_binary(LinearProgram& program, std::string name);

/// Appends a row. Terms of one column are added up, and those that cancel are left out.
void add_row(LinearProgram& program, Row row);

bool has_integers(const LinearProgram& program);

/// Throws Error(kInternal) unless every number is usable (no NaN, costs and coefficients finite,
/// lower <= upper), every term names a column once, and names are present and unique.
void validate(const LinearProgram& program);

}  // namespace plumber
