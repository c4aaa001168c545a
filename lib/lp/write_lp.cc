// SPDX-License-Identifier: Apache-2.0
#include "lp/write_lp.h"

#include <fmt/format.h>

#include <cctype>
#include <set>

namespace plumber {
namespace {

/// Names that the format allows: no operator or blank inside, no digit, '.' or 'e' (an exponent's
/// letter) at the start; still unique after that.
class Names {
 public:
  std::string add(const std::string& name) {
    std::string clean;
    for (const char c : name) {
      const bool allowed =
          std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/';
      clean += allowed ? c : '_';
    }
    const char first = clean.empty() ? '0' : clean.front();
    const bool digit = std::isdigit(static_cast<unsigned char>(first)) != 0;
    if (digit || first == '.' || first == 'e' || first == 'E') clean = "_" + clean;
    std::string unique = clean;
    for (int copy = 2; !taken_.insert(unique).second; ++copy) {
      unique = fmt::format("{}_{}", clean, copy);
    }
    return unique;
  }

 private:
  std::set<std::string> taken_;
};

/// Nine significant digits, and no negative zero.
std::string number_text(double value) { return fmt::format("{:.9g}", value == 0 ? 0.0 : value); }

std::string signed_term(double coefficient, const std::string& name) {
  const char sign = coefficient < 0 ? '-' : '+';
  const double size = coefficient < 0 ? -coefficient : coefficient;
  return size == 1 ? fmt::format(" {} {}", sign, name)
                   : fmt::format(" {} {} {}", sign, number_text(size), name);
}

std::string sum_of(const std::vector<Term>& terms, const std::vector<std::string>& columns) {
  std::string text;
  std::size_t on_line = 0;
  for (const Term& term : terms) {
    if (on_line++ == 8) {
      text += "\n   ";
      on_line = 1;
    }
    text += signed_term(term.coefficient, columns[index_of(term.column)]);
  }
  return text.empty() ? " 0 " + columns.front() : text;
}

std::string row_text(const Row& row, const std::string& name,
                     const std::vector<std::string>& columns) {
  const std::string sum = sum_of(row.terms, columns);
  if (row.lower == row.upper)
    return fmt::format(" {}:{} = {}\n", name, sum, number_text(row.lower));
  std::string text;
  if (row.upper != kInfinity)
    text += fmt::format(" {}:{} <= {}\n", name, sum, number_text(row.upper));
  if (row.lower == -kInfinity) return text;
  const std::string suffix = row.upper != kInfinity ? "_low" : "";
  return text + fmt::format(" {}{}:{} >= {}\n", name, suffix, sum, number_text(row.lower));
}

std::string bound_text(const Column& column, const std::string& name) {
  if (column.lower == -kInfinity && column.upper == kInfinity)
    return fmt::format(" {} free\n", name);
  if (column.lower == column.upper)
    return fmt::format(" {} = {}\n", name, number_text(column.lower));
  std::string text;
  if (column.lower == -kInfinity) {
    text += fmt::format(" {} >= -inf\n", name);
  } else if (column.lower != 0) {
    text += fmt::format(" {} >= {}\n", name, number_text(column.lower));
  }
  if (column.upper != kInfinity)
    text += fmt::format(" {} <= {}\n", name, number_text(column.upper));
  return text;
}

std::string objective_text(const LinearProgram& program, const std::vector<std::string>& columns) {
  std::vector<Term> terms;
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    const double cost = program.columns[i].cost;
    if (cost != 0) terms.push_back({static_cast<ColumnId>(i), cost});
  }
  return sum_of(terms, columns);
}

}  // namespace

std::string write_lp(const LinearProgram& program) {
  Names column_names, row_names;
  std::vector<std::string> columns;
  for (const Column& column : program.columns) columns.push_back(column_names.add(column.name));
  std::string text = fmt::format("\\ {}\n", program.name);
  text += program.sense == Sense::kMinimise ? "Minimize\n" : "Maximize\n";
  text += " obj:" + objective_text(program, columns) + "\nSubject To\n";
  for (const Row& row : program.rows) text += row_text(row, row_names.add(row.name), columns);
  std::string bounds, integers;
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    bounds += bound_text(program.columns[i], columns[i]);
    if (program.columns[i].kind == ColumnKind::kInteger) integers += " " + columns[i] + "\n";
  }
  if (!bounds.empty()) text += "Bounds\n" + bounds;
  if (!integers.empty()) text += "Generals\n" + integers;
  return text + "End\n";
}

}  // namespace plumber
