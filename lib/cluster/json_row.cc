// SPDX-License-Identifier: Apache-2.0
#include "cluster/json_row.h"

#include <charconv>
#include <memory>
#include <tuple>

namespace plumber {
namespace {

// Line and column of "NAME:LINE:COLUMN".
std::pair<std::size_t, std::size_t> line_and_column(const std::string& where) {
  const std::size_t column = where.rfind(':');
  const std::size_t line = where.rfind(':', column - 1);
  std::pair<std::size_t, std::size_t> place{1, 1};
  std::from_chars(where.data() + line + 1, where.data() + column, place.first);
  std::from_chars(where.data() + column + 1, where.data() + where.size(), place.second);
  return place;
}

}  // namespace

TableRow row_of(const JsonMember& object, bool with_places) {
  auto header = std::make_shared<TableHeader>(TableHeader{object.document->name, {}, 1, {}});
  TableRow row{header, 1, {}};
  if (with_places) row.line = line_and_column(object.where()).first;
  for (const JsonMember& member : object.members()) {
    const nlohmann::ordered_json& value = *member.value;
    if (value.is_null() || value.is_structured()) continue;
    TableCell cell{header->columns.size(), 1, 1, ""};
    if (with_places) std::tie(cell.line, cell.at) = line_and_column(member.where());
    cell.text = value.is_string() ? value.get<std::string>() : value.dump();
    header->columns.push_back(member.path.back());
    row.cells.push_back(cell);
  }
  return row;
}

}  // namespace plumber
