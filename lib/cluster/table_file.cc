// SPDX-License-Identifier: Apache-2.0
#include "cluster/table_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/suggest.h"

namespace plumber {
namespace {

constexpr std::size_t kNamesInHint = 20;
constexpr std::size_t kMostColumns = 1000;
constexpr std::size_t kMostShown = 40;    // characters of what somebody wrote
constexpr std::size_t kLongestName = 64;  // longer ones are no misspelling of ours

[[noreturn]] void refuse(const std::string& where, const std::string& message,
                         const std::string& hint = "") {
  throw Error(ErrorKind::kInput, where, message, hint);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

// What somebody wrote, as far as a message needs it.
std::string shown(std::string_view text) {
  std::string result(text.substr(0, kMostShown));
  for (char& c : result) c = static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
  return text.size() > kMostShown ? result + "..." : result;
}

struct CsvField {
  std::size_t at = 1;  // in the line, from 1
  std::string text;
};

std::string place(const std::string& name, std::size_t line, std::size_t at) {
  return fmt::format("{}:{}:{}", name, line, at);
}

// A line of the file.
struct Line {
  std::size_t number = 0;  // from 1
  std::string_view text;
};

// The fields of one line. A quoted field may hold commas and doubled quotes, but no line end.
std::vector<CsvField> fields_of(const Line& line, const std::string& name) {
  std::vector<CsvField> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.text.size(); ++i) {
    const char c = line.text[i];
    if (quoted && c == '"' && i + 1 < line.text.size() && line.text[i + 1] == '"') {
      fields.back().text += line.text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.push_back({i + 2, ""});
    } else {
      fields.back().text += c;
    }
  }
  if (quoted) {
    refuse(place(name, line.number, fields.back().at), "a quoted field does not end in its line",
           "close the quotes; a quote within a field is doubled");
  }
  for (CsvField& field : fields) field.text = std::string(trimmed(field.text));
  return fields;
}

std::size_t column_of(TableHeader& header, const std::string& name, std::size_t at) {
  const auto known = std::find(header.columns.begin(), header.columns.end(), name);
  const auto column = static_cast<std::size_t>(known - header.columns.begin());
  if (known == header.columns.end()) {
    header.columns.push_back(name);
    header.at.push_back(at);
  }
  return column;
}

void check_width(std::size_t columns, const Line& line, const std::string& name) {
  if (columns <= kMostColumns) return;
  refuse(place(name, line.number, 1),
         fmt::format("{} columns, more than {}", columns, kMostColumns),
         "a table of runs has a dozen");
}

// Other kinds of tables that a first line gives away.
void refuse_other_kinds(const std::vector<CsvField>& fields, const Line& line,
                        const std::string& name) {
  const std::string& first = fields[0].text;
  if (first.starts_with('[')) {
    refuse(place(name, line.number, 1), "a JSON array is no table", "write one object a line");
  }
  const std::size_t mark = first.find_first_of(";\t");
  if (fields.size() > 1 || mark == std::string::npos) return;
  refuse(place(name, line.number, mark + 1), "semicolons or tabs separate the columns",
         "write commas between them, and points in numbers");
}

std::shared_ptr<TableHeader> csv_header(const Line& line, const std::string& name) {
  auto header = std::make_shared<TableHeader>(TableHeader{name, {}, line.number, {}});
  std::set<std::string> seen;
  const std::vector<CsvField> fields = fields_of(line, name);
  check_width(fields.size(), line, name);
  refuse_other_kinds(fields, line, name);
  for (const CsvField& field : fields) {
    if (!field.text.empty() && !seen.insert(field.text).second) {
      refuse(place(name, line.number, field.at),
             "column '" + shown(field.text) + "' is there twice", "keep one of them");
    }
    header->columns.push_back(field.text);
    header->at.push_back(field.at);
  }
  return header;
}

TableRow csv_row(const std::shared_ptr<TableHeader>& header, const Line& line) {
  const std::size_t columns = header->columns.size();
  std::vector<CsvField> fields = fields_of(line, header->name);
  if (fields.size() != columns) {
    const bool more = fields.size() > columns;
    refuse(place(header->name, line.number, more ? fields[columns].at : line.text.size() + 1),
           fmt::format("{} fields, but the header has {}", fields.size(), columns),
           more ? "a field with a comma in it needs quotes" : "leave a field empty, not out");
  }
  TableRow row{header, line.number, {}};
  for (std::size_t i = 0; i < columns; ++i) {
    if (!fields[i].text.empty())
      row.cells.push_back({i, line.number, fields[i].at, std::move(fields[i].text)});
  }
  return row;
}

// Where in its file the line of an error about the line alone stands: "NAME:1:9" -> "NAME:7:9".
std::string in_file(const std::string& where, const std::string& name, std::size_t number) {
  const std::size_t column = where.rfind(':');
  const bool placed = where.size() > name.size() && column != std::string::npos;
  return fmt::format("{}:{}{}", name, number, placed ? where.substr(column) : "");
}

TableRow json_row(const std::shared_ptr<TableHeader>& header, const Line& line) {
  TableRow row{header, line.number, {}};
  try {
    const auto object = parse_json_object(line.text, header->name,
                                          "write one object a line, {\"workers\": 8, ...}");
    for (const auto& [key, value] : object.items()) {
      const std::size_t found = line.text.find('"' + key + '"');
      const std::size_t at = found == std::string_view::npos ? 1 : found + 1;  // with escapes
      if (value.is_structured()) {
        refuse(place(header->name, 1, at), "'" + shown(key) + "' is not a plain value",
               "give a number or a text");
      }
      if (value.is_null()) continue;
      row.cells.push_back({column_of(*header, key, at), line.number, at,
                           value.is_string() ? value.get<std::string>() : value.dump()});
    }
    check_width(header->columns.size(), line, header->name);
  } catch (const Error& error) {
    throw Error(error.kind, in_file(error.where, header->name, line.number), error.what(),
                error.hint);
  }
  return row;
}

bool is_skipped(std::string_view line) { return trimmed(line).empty() || line[0] == '#'; }

// The next line of the text, which it is taken from.
Line next_line(std::string_view& text, std::size_t number) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const Line line{number, text.substr(0, end)};
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string TableHeader::where(std::size_t column) const {
  return place(name, line, column < at.size() ? std::max<std::size_t>(at[column], 1) : 1);
}

const TableCell* TableRow::cell(std::string_view column) const {
  for (const TableCell& one : cells) {
    if (header->columns[one.column] == column) return &one;
  }
  return nullptr;
}

std::string TableRow::where() const { return place(header->name, line, 1); }

std::string TableRow::where(std::string_view column) const {
  const TableCell* one = cell(column);
  return one ? place(header->name, one->line, one->at) : where();
}

InputTable parse_table(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // spreadsheets write this mark
  std::shared_ptr<TableHeader> header;
  std::vector<TableRow> rows;
  bool json = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const Line line = next_line(text, number);
    if (is_skipped(line.text)) continue;
    if (!header) {
      json = trimmed(line.text)[0] == '{';
      header = json ? std::make_shared<TableHeader>(TableHeader{name, {}, number, {}})
                    : csv_header(line, name);
      if (!json) continue;
    }
    rows.push_back(json ? json_row(header, line) : csv_row(header, line));
  }
  if (rows.empty()) {
    refuse(place(name, 1, 1), "the table has no rows",
           "write a line with the names of the columns, then a line a row");
  }
  return {header, std::move(rows)};
}

InputTable read_table(const std::string& path) { return parse_table(read_file(path), path); }

void require_column(const InputTable& table, const std::string& column,
                    const std::vector<std::string>& also_called) {
  const auto& known = table.header->columns;
  if (std::find(known.begin(), known.end(), column) != known.end()) return;
  std::string hint = "columns are: ";
  for (std::size_t i = 0; i < std::min(known.size(), kNamesInHint); ++i) {
    hint += (i ? ", " : "") + shown(known[i]);
  }
  auto near = nearest_name(column, known);
  for (const std::string& other : also_called) {
    if (!near && std::find(known.begin(), known.end(), other) != known.end()) near = other;
  }
  refuse(place(table.header->name, table.header->line, 1), "no column '" + column + "'",
         near ? "is it the one called '" + shown(*near) + "'?" : hint);
}

void refuse_misspelt(const InputTable& table, const std::vector<std::string>& known) {
  const auto& columns = table.header->columns;
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& column = columns[i];
    if (column.size() > kLongestName || has(known, column)) continue;
    const auto near = nearest_name(column, known);
    if (!near || has(columns, *near)) continue;
    refuse(table.header->where(i), "unknown column '" + column + "'",
           "did you mean '" + *near + "'? rename the column, or leave it out");
  }
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<double> number_in(const TableRow& row, const std::string& column) {
  const TableCell* cell = row.cell(column);
  if (!cell) return std::nullopt;
  const auto number = number_of(cell->text);
  if (!number) {
    refuse(row.where(column),
           fmt::format("column '{}': '{}' is not a number", column, shown(cell->text)),
           "write it like 0.25 or 1e-3, or leave the field empty");
  }
  return number;
}

std::optional<std::string> text_in(const TableRow& row, const std::string& column) {
  if (const TableCell* cell = row.cell(column)) return cell->text;
  return std::nullopt;
}

static std::optional<double> positive_or_none(const TableRow& row, const std::string& column,
                                              const std::string& hint) {
  const auto number = number_in(row, column);
  if (!number || *number > 0) return number;
  refuse(row.where(column), fmt::format("column '{}': {} is not above 0", column, *number), hint);
}

double positive_in(const TableRow& row, const std::string& column) {
  const auto number = positive_or_none(row, column, "every row needs a number above 0 there");
  if (!number) refuse(row.where(), "column '" + column + "' is empty", "every row needs it");
  return *number;
}

std::optional<double> optional_positive_in(const TableRow& row, const std::string& column) {
  return positive_or_none(row, column, "leave the field empty where it is not known");
}

}  // namespace plumber
