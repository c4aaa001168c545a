// SPDX-License-Identifier: Apache-2.0
#include <cassert>

#include "report/render.h"
#include "report/value_text.h"

namespace plumber {
namespace {

struct CsvCell {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(double number) const {
    const std::string text = exact(number);
    return text == "null" ? "" : text;
  }
  std::string operator()(const std::string& text) const { return quoted(text); }
  std::string operator()(const std::vector<std::string>& list) const {
    std::string text;
    for (const std::string& item : list) text += (text.empty() ? "" : " ") + item;
    return quoted(text);
  }
  std::string operator()(const std::vector<double>& list) const {
    std::string text;
    for (const double number : list) text += (text.empty() ? "" : " ") + exact(number);
    return text;
  }

  static std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string doubled;
    for (const char c : text) doubled += c == '"' ? std::string("\"\"") : std::string(1, c);
    return '"' + doubled + '"';
  }
};

std::string csv_of(const Table& table) {
  std::string header;
  for (const ReportColumn& column : table.columns) {
    if (!column.key.empty()) header += (header.empty() ? "" : ",") + column.key;
  }
  std::string text = header + "\n";
  for (const ReportRow& row : table.rows) {
    assert(row.cells.size() == table.columns.size());
    bool first = true;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].key.empty()) continue;
      if (!first) text += ',';
      first = false;
      text += std::visit(CsvCell{}, row.cells[i]);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string render_csv(const Report& report) {
  for (const Section& section : report.sections) {
    const auto* table = std::get_if<Table>(&section.body);
    if (table && section.key == report.csv_section) return csv_of(*table);
  }
  return "";
}

}  // namespace plumber
