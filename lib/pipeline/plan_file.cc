// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/suggest.h"

namespace plumber {
namespace {

using nlohmann::json;

constexpr std::int64_t kSchemaVersion = 1;
constexpr const char* kWhatAPlanIs = "a plan is what 'plumber optimize -o plan.json' writes";

[[noreturn]] void fail(const std::string& where, const std::string& message,
                       const std::string& hint = "") {
  throw Error(ErrorKind::kInput, where, message, hint);
}

// "name:line:column" of a byte, both counted from 1.
std::string place_of(const std::string& name, const std::string& text, std::size_t byte) {
  const std::size_t end = std::min(byte > 0 ? byte - 1 : 0, text.size());
  const auto begin = text.begin();
  const auto stop = begin + static_cast<std::ptrdiff_t>(end);
  const auto line = 1 + std::count(begin, stop, '\n');
  const std::size_t line_start = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  const std::size_t column = line_start == std::string::npos ? end + 1 : end - line_start;
  return fmt::format("{}:{}:{}", name, line, column);
}

// What the parser says after its own code and place: "[json.exception...] parse error at line 1,
// column 2: syntax error while ...; expected ..." -> "syntax error while ...; expected ...".
std::string reason_of(const json::parse_error& error) {
  const std::string what = error.what();
  const std::size_t place = what.find(": ");
  return "no JSON: " + (place == std::string::npos ? what : what.substr(place + 2));
}

json parse(const std::string& name, const std::string& text) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    fail(place_of(name, text, error.byte), reason_of(error), kWhatAPlanIs);
  } catch (const json::out_of_range&) {
    fail(name, "a number in it is too large", kWhatAPlanIs);
  }
}

// One JSON object, with where it stands.
struct Object {
  const json& value;
  std::string where;

  // The member, or nullptr if it is not there or null.
  const json* find(const char* key) const {
    const auto found = value.find(key);
    return found == value.end() || found->is_null() ? nullptr : &*found;
  }

  const json& need(const char* key) const {
    const json* member = find(key);
    if (!member) fail(where, fmt::format("the key \"{}\" is missing", key), kWhatAPlanIs);
    return *member;
  }

  std::string text(const json& member, const char* key) const {
    if (!member.is_string()) fail(where, fmt::format("\"{}\" is not a text", key));
    return member.get<std::string>();
  }

  std::string text_or(const char* key, const std::string& otherwise) const {
    const json* member = find(key);
    return member ? text(*member, key) : otherwise;
  }
};

EditValue read_value(const Object& object) {
  const json* value = object.find("value");
  if (!value) return {};
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_string()) return value->get<std::string>();
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > kMost)
    fail(object.where, "\"value\" is too large", "give a whole number below 2^63");
  if (!value->is_number_integer())
    fail(object.where, "\"value\" is no whole number, text, true, false or null");
  return value->get<std::int64_t>();
}

EditKind read_kind(const Object& object) {
  const std::string word = object.text(object.need("edit"), "edit");
  if (const auto kind = edit_kind(word)) return *kind;
  const std::string nearest = did_you_mean(word, edit_words());
  fail(object.where, fmt::format("there is no edit '{}'", word),
       nearest.empty() ? fmt::format("edits are {}", fmt::join(edit_words(), ", ")) : nearest);
}

Edit read_edit(const Object& object, std::size_t place) {
  Edit edit;
  edit.kind = read_kind(object);
  edit.id = object.text_or("id", fmt::format("E{}", place + 1));
  edit.node = edit.kind == EditKind::kSetOptions ? object.text_or("node", "")
                                                 : object.text(object.need("node"), "node");
  edit.to = object.text_or("to", "");
  edit.value = read_value(object);
  edit.reason = object.text_or("reason", "");
  edit.python = object.text_or("python", "");
  if (const json* gain = object.find("gain_per_s")) {
    if (!gain->is_number()) fail(object.where, "\"gain_per_s\" is not a number");
    edit.gain_per_s = gain->get<double>();
  }
  return edit;
}

void check_version(const Object& plan) {
  const json& version = plan.need("schema_version");
  if (!version.is_number_integer() || version.get<std::int64_t>() < 1)
    fail(plan.where, "\"schema_version\" is not a version number", kWhatAPlanIs);
  if (version.get<std::int64_t>() > kSchemaVersion)
    fail(plan.where,
         fmt::format("schema_version {} is newer than this plumber reads ({})",
                     version.get<std::int64_t>(), kSchemaVersion),
         "use the plumber that wrote the plan, or a newer one");
}

std::vector<Edit> read_edits(const std::string& name, const json& list) {
  if (!list.is_array()) fail(name, "\"edits\" is not a list", kWhatAPlanIs);
  std::vector<Edit> edits;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Object object{list[i], fmt::format("{}: edits[{}]", name, i)};
    if (!list[i].is_object()) fail(object.where, "it is not an object");
    edits.push_back(read_edit(object, i));
    if (!ids.insert(edits.back().id).second)
      fail(object.where, fmt::format("the id '{}' is there twice", edits.back().id),
           "give every edit an id of its own, or none");
  }
  return edits;
}

std::map<std::string, std::string> read_environment(const std::string& name, const json& value) {
  if (!value.is_object()) fail(name, "\"environment\" is not an object");
  const Object object{value, name + ": environment"};
  std::map<std::string, std::string> environment;
  for (const auto& [key, text] : value.items()) environment[key] = object.text(text, key.c_str());
  return environment;
}

std::vector<std::string> read_permissions(const std::string& name, const json& list) {
  const Object object{list, name + ": permissions"};
  if (!list.is_array()) fail(name, "\"permissions\" is not a list");
  std::vector<std::string> permissions;
  for (const json& word : list) permissions.push_back(object.text(word, "permissions"));
  return permissions;
}

}  // namespace

Plan read_plan(const std::string& name, const std::string& text) {
  const json root = parse(name, text);
  if (!root.is_object()) fail(name, "it is not a JSON object", kWhatAPlanIs);
  const Object object{root, name};
  check_version(object);
  Plan plan;
  plan.graph_fingerprint = object.text(object.need("graph_fingerprint"), "graph_fingerprint");
  plan.edits = read_edits(name, object.need("edits"));
  if (const json* environment = object.find("environment"))
    plan.environment = read_environment(name, *environment);
  if (const json* permissions = object.find("permissions"))
    plan.permissions = read_permissions(name, *permissions);
  return plan;
}

}  // namespace plumber
