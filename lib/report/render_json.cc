// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

#include "report/render.h"
#include "report/value_text.h"

namespace plumber {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidth = 100;

// Numbers stand in the tree as doubles and are written by exact(): the library would write the 17
// digits of a rounded double now and then, and 3.0 for 3.
struct JsonValue {
  Json operator()(std::monostate) const { return nullptr; }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

// "memory.items" in `root` is the member "items" of its member "memory".
Json& at_path(Json& root, const std::string& path) {
  Json* place = &root;
  std::size_t from = 0;
  while (true) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    place = &(*place)[path.substr(from, dot - from)];
    if (dot == path.size()) return *place;
    from = dot + 1;
  }
}

Json json_of(const Table& table) {
  Json rows = Json::array();
  for (const ReportRow& row : table.rows) {
    assert(row.cells.size() == table.columns.size());
    Json object = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].key.empty()) continue;
      at_path(object, table.columns[i].key) = std::visit(JsonValue{}, row.cells[i]);
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

void put(Json& root, const Section& section) {
  if (const auto* table = std::get_if<Table>(&section.body)) {
    if (!section.key.empty()) at_path(root, section.key) = json_of(*table);
  } else if (const auto* fields = std::get_if<Fields>(&section.body)) {
    Json& object = section.key.empty() ? root : at_path(root, section.key);
    if (object.is_null()) object = Json::object();
    for (const Field& field : fields->fields) {
      if (!field.key.empty()) at_path(object, field.key) = std::visit(JsonValue{}, field.value);
    }
  }
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string in_one_line(const Json& json) {
  if (json.is_number()) return exact(json.get<double>());
  if (json.is_string()) return quoted(json.get_ref<const std::string&>());
  if (!json.is_structured()) return json.dump();
  std::string text;
  for (const auto& [key, member] : json.items()) {
    if (!text.empty()) text += ", ";
    if (json.is_object()) text += quoted(key) + ": ";
    text += in_one_line(member);
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

bool is_plain(const Json& json) {
  return std::none_of(json.begin(), json.end(), [](const Json& m) { return m.is_structured(); }) &&
         !json.is_object();
}

// What fits in a line stands in one; else plain members fill lines, and others have one of their
// own. The trees here are a few levels deep.
std::string pretty(const Json& json, std::size_t indent) {
  const std::string whole = in_one_line(json);
  if (!json.is_structured() || indent + whole.size() <= kWidth) return whole;
  const std::string margin(indent + 2, ' ');
  std::string text;
  std::size_t column = kWidth;  // where the last line ends; kWidth: it is closed
  for (const auto& [key, member] : json.items()) {
    const std::string name = json.is_object() ? quoted(key) + ": " : "";
    const std::string piece = name + pretty(member, indent + 2);
    const bool fills = json.is_object() && is_plain(member);
    const bool same_line = fills && column + piece.size() + 2 < kWidth;
    text += text.empty() ? "\n" : same_line ? ", " : ",\n";
    text += (same_line ? "" : margin) + piece;
    column = !fills ? kWidth : (same_line ? column + 2 : margin.size()) + piece.size();
  }
  text += "\n" + std::string(indent, ' ');
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace

std::string render_json(const Report& report) {
  Json root = Json::object();
  for (const Section& section : report.sections) put(root, section);
  return pretty(root, 0) + "\n";
}

}  // namespace plumber
