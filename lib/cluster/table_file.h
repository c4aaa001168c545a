// SPDX-License-Identifier: Apache-2.0
// Tables that people and programs hand in: CSV with a header line (RFC 4180), or JSON lines (one
// object a line, keys are the columns). Values stay text until they are asked for, so that an error
// can name the place:
//
//   runs.csv:7:12: column 'iteration_s': 'fast' is not a number
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumber {

struct TableHeader {
  std::string name;  // of the table, in errors
  std::vector<std::string> columns;
  std::size_t line = 1;         // of the header, or of the first object
  std::vector<std::size_t> at;  // where each column's name begins, from 1

  std::string where(std::size_t column) const;  // "runs.csv:1:9"
};

struct TableCell {
  std::size_t column = 0;  // in the header
  std::size_t line = 0;    // of the file, from 1
  std::size_t at = 0;      // where in the line it begins, from 1
  std::string text;
};

struct TableRow {
  std::shared_ptr<const TableHeader> header;
  std::size_t line = 0;          // from 1
  std::vector<TableCell> cells;  // without those that are empty or null

  const TableCell* cell(std::string_view column) const;  // nullptr: empty, or no such column
  std::string where() const;                             // "runs.csv:7:1"
  std::string where(std::string_view column) const;      // "runs.csv:7:12"; the row without it
};

struct InputTable {
  std::shared_ptr<const TableHeader> header;
  std::vector<TableRow> rows;
};

/// `name` is the table's name in errors.
InputTable parse_table(std::string_view text, const std::string& name);

/// The table of a file.
InputTable read_table(const std::string& path);

/// Error(kInput) unless the table has the column; names the nearest one that it has, or the one
/// that is called as others call it.
void require_column(const InputTable& table, const std::string& column,
                    const std::vector<std::string>& also_called = {});

/// Error(kInput) for a column that is nearly one of `known` which the table lacks: a misspelt
/// column that need not be there would be passed over in silence. Other columns are the user's own.
void refuse_misspelt(const InputTable& table, const std::vector<std::string>& known);

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
