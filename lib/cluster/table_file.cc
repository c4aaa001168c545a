// SPDX-License-Identifier: Apache-2.0
#include "cluster/table_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"

namespace plumber {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& message,
                         const std::string& hint = "") {
  throw Error(ErrorKind::kInput, where, message, hint);
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \t\r") + 1);
  text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

// The fields of one line. A quoted field may hold commas and doubled quotes, but no line end.
std::vector<std::string> fields_of(const std::string& line, const std::string& where) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) refuse(where, "a quoted field does not end in its line");
  for (std::string& field : fields) field = trimmed(field);
  return fields;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

TableRow csv_row(const InputTable& table, const std::string& line, const std::string& where) {
  const std::vector<std::string> fields = fields_of(line, where);
  if (fields.size() != table.columns.size()) {
    refuse(where,
           fmt::format("{} fields, but the header has {}", fields.size(), table.columns.size()));
  }
  TableRow row{where, {}};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].empty()) row.cells[table.columns[i]] = fields[i];
  }
  return row;
}

TableRow json_row(const std::string& line, const std::string& where) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object()) refuse(where, "the line is not a JSON object");
  TableRow row{where, {}};
  for (const auto& [key, value] : object.items()) {
    if (value.is_structured()) refuse(where, "column '" + key + "' is not a plain value");
    if (value.is_null()) continue;
    row.cells[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return row;
}

bool is_skipped(const std::string& line) { return trimmed(line).empty() || line[0] == '#'; }

}  // namespace

InputTable parse_table(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // spreadsheets write this mark
  InputTable table{name, {}, {}};
  std::optional<bool> json;
  std::size_t number = 0;
  for (const std::string& line : lines_of(text)) {
    const std::string where = fmt::format("{}:{}", name, ++number);
    if (is_skipped(line)) continue;
    if (!json) {
      json = trimmed(line)[0] == '{';
      if (!*json) table.columns = fields_of(line, where);
      if (!*json) continue;
    }
    table.rows.push_back(*json ? json_row(line, where) : csv_row(table, line, where));
    if (!*json) continue;
    for (const auto& [column, value] : table.rows.back().cells) {
      const auto& known = table.columns;
      if (std::find(known.begin(), known.end(), column) == known.end()) {
        table.columns.push_back(column);
      }
    }
  }
  if (table.rows.empty()) refuse(name, "the table has no rows");
  return table;
}

InputTable read_table(const std::string& path) { return parse_table(read_file(path), path); }

void require_column(const InputTable& table, const std::string& column) {
  const auto& known = table.columns;
  if (std::find(known.begin(), known.end(), column) != known.end()) return;
  std::string hint = "columns are: ";
  for (std::size_t i = 0; i < known.size(); ++i) hint += (i ? ", " : "") + known[i];
  const auto near = nearest_name(column, known);
  refuse(table.name, "no column '" + column + "'",
         near ? "is it the one called '" + *near + "'?" : hint);
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<double> number_in(const TableRow& row, const std::string& column) {
  const auto cell = row.cells.find(column);
  if (cell == row.cells.end()) return std::nullopt;
  const auto number = number_of(cell->second);
  if (!number)
    refuse(row.where, fmt::format("column '{}': '{}' is not a number", column, cell->second));
  return number;
}

std::optional<std::string> text_in(const TableRow& row, const std::string& column) {
  const auto cell = row.cells.find(column);
  return cell == row.cells.end() ? std::nullopt : std::optional(cell->second);
}

double positive_in(const TableRow& row, const std::string& column) {
  const auto number = number_in(row, column);
  if (!number) refuse(row.where, "column '" + column + "' is empty");
  if (*number <= 0)
    refuse(row.where, fmt::format("column '{}': {} is not above 0", column, *number));
  return *number;
}

std::optional<double> optional_positive_in(const TableRow& row, const std::string& column) {
  if (!number_in(row, column)) return std::nullopt;
  return positive_in(row, column);
}

}  // namespace plumber
