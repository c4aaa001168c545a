// SPDX-License-Identifier: Apache-2.0
// Tables that people and programs hand in: CSV with a header line (RFC 4180), or JSON lines (one
// object a line, keys are the columns). Values stay text until they are asked for, so that an error
// can name the place:
//
//   runs.csv:7: column 'iteration_s': 'fast' is not a number
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumber {

struct TableRow {
  std::string where;                         // "runs.csv:7"
  std::map<std::string, std::string> cells;  // without those that are empty or null
};

struct InputTable {
  std::string name;
  std::vector<std::string> columns;
  std::vector<TableRow> rows;
};

/// `name` is the table's name in errors.
InputTable parse_table(std::string_view text, const std::string& name);

/// The table of a file.
InputTable read_table(const std::string& path);

/// Error(kInput) unless the table has the column; names the nearest one that it has.
void require_column(const InputTable& table, const std::string& column);

/// The cell, if it is there; Error(kInput) when it is no finite number.
std::optional<double> number_in(const TableRow& row, const std::string& column);
std::optional<std::string> text_in(const TableRow& row, const std::string& column);

/// The number, which must be there and above 0.
double positive_in(const TableRow& row, const std::string& column);

/// The number above 0, if it is there.
std::optional<double> optional_positive_in(const TableRow& row, const std::string& column);

/// The whole text as a finite number, or nullopt. Locale-free.
std::optional<double> number_of(std::string_view text);

}  // namespace plumber
