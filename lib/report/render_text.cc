// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "report/render.h"
#include "report/value_text.h"

namespace plumber {
namespace {

constexpr const char* kBold = "\033[1m";
constexpr const char* kStrong = "\033[1;33m";
constexpr const char* kFaint = "\033[2m";
constexpr const char* kPlain = "\033[0m";
constexpr std::size_t kGap = 2;           // blanks between two columns
constexpr std::size_t kProseWidth = 100;  // longer lines are hard to read
constexpr std::size_t kNarrowest = 8;     // of an elastic column

std::string painted(const std::string& text, const char* color, const TextStyle& style) {
  return style.color ? color + text + kPlain : text;
}

// Cells of the titled columns as they will stand, the titles first.
struct Grid {
  std::vector<std::size_t> columns;
  std::vector<std::vector<std::string>> lines;
  std::vector<std::size_t> widths;
  std::vector<char> are_numbers;  // by column: in any row of the table, or all unknown
};

std::vector<char> number_columns(const Table& table, const std::vector<std::size_t>& columns) {
  std::vector<char> are_numbers(columns.size(), 0);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::size_t i = columns[c];
    const auto holds_number = [&](const ReportRow& row) {
      return std::holds_alternative<double>(row.cells[i]);
    };
    const auto is_unknown = [&](const ReportRow& row) {
      return std::holds_alternative<std::monostate>(row.cells[i]);
    };
    const bool unknown =
        table.columns[i].unit != Unit::kNone && std::ranges::all_of(table.rows, is_unknown);
    are_numbers[c] = unknown || std::ranges::any_of(table.rows, holds_number) ? 1 : 0;
  }
  return are_numbers;
}

Grid grid_of(const Table& table, const std::vector<const ReportRow*>& rows) {
  Grid grid;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].title.empty()) continue;
    grid.columns.push_back(i);
    titles.push_back(table.columns[i].title);
  }
  grid.lines.push_back(titles);
  grid.are_numbers = number_columns(table, grid.columns);
  for (const ReportRow* row : rows) {
    assert(row->cells.size() == table.columns.size());
    std::vector<std::string> line;
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      const std::size_t i = grid.columns[c];
      const std::string text = readable(row->cells[i], table.columns[i].unit);
      line.push_back(text == "-" && grid.are_numbers[c] == 0 ? "" : text);
    }
    grid.lines.push_back(line);
  }
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    std::size_t width = 0;
    for (const auto& line : grid.lines) width = std::max(width, width_of(line[c]));
    grid.widths.push_back(width);
  }
  return grid;
}

// Takes what is too much from the widest elastic column, one character after the other.
void fit(Grid& grid, const Table& table, std::size_t width) {
  std::size_t total = kGap * grid.columns.size();
  for (const std::size_t column_width : grid.widths) total += column_width;
  for (; total > width; --total) {
    std::size_t widest = grid.columns.size();
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      if (!table.columns[grid.columns[c]].elastic || grid.widths[c] <= kNarrowest) continue;
      if (widest == grid.columns.size() || grid.widths[c] > grid.widths[widest]) widest = c;
    }
    if (widest == grid.columns.size()) return;
    --grid.widths[widest];
  }
}

// The rows that people see; `left` counts those that -v shows.
std::vector<const ReportRow*> visible_rows(const Table& table, const TextStyle& style,
                                           std::size_t& left) {
  std::vector<const ReportRow*> rows;
  left = 0;
  for (const ReportRow& row : table.rows) {
    if (row.for_programs) continue;
    if (style.all || rows.size() < table.shown) {
      rows.push_back(&row);
    } else {
      ++left;
    }
  }
  return rows;
}

std::string rest(std::size_t left) {
  return left == 0 ? "" : fmt::format("  ... {} more: -v shows them\n", left);
}

std::string shortened(std::string text, const ReportColumn& column, std::size_t width) {
  const std::size_t place =
      column.expendable.empty() ? std::string::npos : text.find(column.expendable);
  if (width_of(text) > width && place != std::string::npos) {
    text.erase(place, column.expendable.size());
  }
  return elide_middle(text, width);
}

std::string table_text(const Table& table, const TextStyle& style) {
  std::size_t left = 0;
  const std::vector<const ReportRow*> rows = visible_rows(table, style, left);
  Grid grid = grid_of(table, rows);
  fit(grid, table, static_cast<std::size_t>(style.width));
  std::string text;
  for (std::size_t r = 0; r < grid.lines.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      const std::string cell =
          shortened(grid.lines[r][c], table.columns[grid.columns[c]], grid.widths[c]);
      const std::string blanks(grid.widths[c] - width_of(cell), ' ');
      line += std::string(kGap, ' ') + (grid.are_numbers[c] != 0 ? blanks + cell : cell + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    if (r == 0) line = painted(line, kFaint, style);
    if (r > 0 && rows[r - 1]->highlighted) line = painted(line, kStrong, style);
    text += line + "\n";
  }
  return text + rest(left);
}

std::string indented(const std::string& text, const std::string& first, std::size_t indent) {
  std::string out;
  for (const std::string& line : wrap(text, kProseWidth - indent)) {
    out += (out.empty() ? first : std::string(indent, ' ')) + line + "\n";
  }
  return out;
}

std::string items_text(const Table& table, const TextStyle& style) {
  std::size_t left = 0;
  const std::vector<const ReportRow*> rows = visible_rows(table, style, left);
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    bool lead = true;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const ReportColumn& column = table.columns[i];
      if (column.title.empty()) continue;
      const std::string cell = readable(rows[r]->cells[i], column.unit);
      if (lead) {
        text += indented(cell, painted(fmt::format("{:>3}. ", r + 1), kBold, style), 5);
      } else if (cell != "-") {
        text += indented(cell, fmt::format("     {:<10}", column.title + ":"), 15);
      }
      lead = false;
    }
  }
  return text + rest(left);
}

std::string fields_text(const Fields& fields) {
  std::size_t width = 0;
  for (const Field& field : fields.fields) width = std::max(width, width_of(field.title));
  std::string text;
  for (const Field& field : fields.fields) {
    if (field.title.empty()) continue;
    const std::string blanks(width - width_of(field.title) + 2, ' ');
    text += indented(readable(field.value, field.unit), "  " + field.title + blanks, width + 4);
  }
  return text;
}

std::string prose_text(const Prose& prose) {
  std::string text;
  for (const Sentence& sentence : prose.sentences) text += indented(readable(sentence), "", 0);
  return text;
}

std::string body_text(const Section& section, const TextStyle& style) {
  if (const auto* prose = std::get_if<Prose>(&section.body)) return prose_text(*prose);
  if (section.title.empty()) return "";
  if (const auto* fields = std::get_if<Fields>(&section.body)) return fields_text(*fields);
  const auto& table = std::get<Table>(section.body);
  if (table.rows.empty()) return "";
  return table.layout == Layout::kItems ? items_text(table, style) : table_text(table, style);
}

}  // namespace

std::string render_text(const Report& report, const TextStyle& style) {
  std::string text;
  for (const Section& section : report.sections) {
    std::string body = body_text(section, style);
    if (body.empty()) continue;
    if (text.empty() && style.color) {  // the first sentence is the answer
      body = kBold + body.substr(0, body.size() - 1) + kPlain + "\n";
    }
    if (!text.empty()) text += "\n";
    if (!section.title.empty()) text += painted(section.title, kBold, style) + "\n";
    if (!section.legend.pattern.empty()) {
      for (const std::string& line : wrap(readable(section.legend), kProseWidth)) {
        text += painted("  " + line, kFaint, style) + "\n";
      }
    }
    text += body;
  }
  return text;
}

std::string render(const Report& report, Format format, const TextStyle& style) {
  switch (format) {
    case Format::kText:
      return render_text(report, style);
    case Format::kJson:
      return render_json(report);
    case Format::kCsv:
      return render_csv(report);
    case Format::kDot:
      return render_dot(report);
  }
  return {};
}

}  // namespace plumber
