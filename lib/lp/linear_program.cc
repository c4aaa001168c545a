// SPDX-License-Identifier: Apache-2.0
#include "lp/linear_program.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"

namespace plumber {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& why) {
  throw Error(ErrorKind::kInternal, "linear program: " + place, why);
}

void check_bounds(const std::string& place, double lower, double upper) {
  if (std::isnan(lower) || std::isnan(upper)) refuse(place, "a bound is not a number");
  if (lower > upper) refuse(place, "the lower bound is above the upper one");
  if (lower == kInfinity || upper == -kInfinity) refuse(place, "no finite value fits its bounds");
}

void check_name(const std::string& what, const std::string& name, std::set<std::string>& seen) {
  if (name.empty()) refuse(what, "a name is missing");
  if (!seen.insert(name).second) refuse(what + " '" + name + "'", "the name stands twice");
}

void check_terms(const LinearProgram& program, const Row& row) {
  std::vector<std::size_t> used;
  for (const Term& term : row.terms) {
    const std::size_t column = index_of(term.column);
    if (column >= program.columns.size()) {
      refuse("row '" + row.name + "'", "a term names no column");
    }
    if (!std::isfinite(term.coefficient)) {
      refuse("row '" + row.name + "'", "a coefficient is not finite");
    }
    used.push_back(column);
  }
  std::sort(used.begin(), used.end());
  if (std::adjacent_find(used.begin(), used.end()) != used.end()) {
    refuse("row '" + row.name + "'", "a column stands twice");
  }
}

}  // namespace

ColumnId add_column(LinearProgram& program, Column column) {
  program.columns.push_back(std::move(column));
  return static_cast<ColumnId>(program.columns.size() - 1);
}

ColumnId add_binary(LinearProgram& program, std::string name) {
  return add_column(program, {std::move(name), 0, 1, 0, ColumnKind::kInteger});
}

void add_row(LinearProgram& program, Row row) {
  std::stable_sort(row.terms.begin(), row.terms.end(),
                   [](const Term& a, const Term& b) { return a.column < b.column; });
  std::vector<Term> merged;
  for (const Term& term : row.terms) {
    if (!merged.empty() && merged.back().column == term.column) {
      merged.back().coefficient += term.coefficient;
    } else {
      merged.push_back(term);
    }
  }
  std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
  row.terms = std::move(merged);
  program.rows.push_back(std::move(row));
}

bool has_integers(const LinearProgram& program) {
  return std::any_of(program.columns.begin(), program.columns.end(),
                     [](const Column& column) { return column.kind == ColumnKind::kInteger; });
}

void validate(const LinearProgram& program) {
  if (program.columns.empty()) refuse("program", "there are no columns");
  std::set<std::string> columns;
  for (const Column& column : program.columns) {
    check_name("column", column.name, columns);
    check_bounds("column '" + column.name + "'", column.lower, column.upper);
    if (!std::isfinite(column.cost))
      refuse("column '" + column.name + "'", "its cost is not finite");
  }
  std::set<std::string> rows;
  for (const Row& row : program.rows) {
    check_name("row", row.name, rows);
    check_bounds("row '" + row.name + "'", row.lower, row.upper);
    check_terms(program, row);
  }
}

}  // namespace plumber
