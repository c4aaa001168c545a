// SPDX-License-Identifier: Apache-2.0
#include "base/json_member.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"

namespace plumber {

JsonMember JsonDocument::root() const { return {this, &json, {}}; }

JsonDocument parse_document(std::string_view text, const std::string& name,
                            const std::string& hint) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // as the parser does
  return {name, std::string(text), hint, parse_json_object(text, name, hint)};
}

void JsonMember::refuse(const std::string& message) const { refuse(message, document->hint); }

void JsonMember::refuse(const std::string& message, const std::string& hint) const {
  throw Error(ErrorKind::kInput, where(), path.empty() ? message : dotted() + ": " + message, hint);
}

std::string JsonMember::where() const { return json_place(document->text, document->name, path); }

std::string JsonMember::dotted() const {
  std::string text;
  for (const std::string& key : path) {
    const bool is_index = key.find_first_not_of("0123456789") == std::string::npos;
    text += is_index ? "[" + key + "]" : (text.empty() ? "" : ".") + key;
  }
  return text;
}

bool JsonMember::has(const std::string& key) const {
  if (!value->is_object()) return false;
  const auto found = value->find(key);
  return found != value->end() && !found->is_null();
}

JsonMember JsonMember::at(const std::string& key) const {
  if (!value->is_object()) refuse("not an object");
  const auto found = value->find(key);
  if (found == value->end()) refuse("no member '" + key + "'");
  JsonMember member{document, &*found, path};
  member.path.push_back(key);
  return member;
}

std::vector<JsonMember> JsonMember::elements() const {
  if (!value->is_array()) refuse("not an array");
  std::vector<JsonMember> all;
  for (std::size_t i = 0; i < value->size(); ++i) {
    all.push_back({document, &(*value)[i], path});
    all.back().path.push_back(std::to_string(i));
  }
  return all;
}

std::vector<JsonMember> JsonMember::members() const {
  if (!value->is_object()) refuse("not an object");
  std::vector<JsonMember> all;
  for (const auto& [key, member] : value->items()) all.push_back(at(key));
  return all;
}

double JsonMember::number() const {
  if (!value->is_number()) refuse("not a number");
  return value->get<double>();
}

double JsonMember::positive() const {
  if (number() <= 0) refuse("not above 0");
  return number();
}

double JsonMember::number_within(double least, double most) const {
  if (!value->is_number() || number() < least || number() > most) {
    refuse(fmt::format("not a number from {} to {}", least, most));
  }
  return number();
}

std::string JsonMember::text() const {
  if (!value->is_string()) refuse("not a text");
  return value->get<std::string>();
}

bool JsonMember::flag() const {
  if (!value->is_boolean()) refuse("neither true nor false");
  return value->get<bool>();
}

std::pair<double, double> JsonMember::range() const {
  const auto ends = elements();
  if (ends.size() != 2) refuse("not a pair of numbers");
  if (ends[0].number() > ends[1].number()) refuse("the pair descends");
  return {ends[0].number(), ends[1].number()};
}

std::optional<double> JsonMember::number_or_none(const std::string& key) const {
  return has(key) ? std::optional(at(key).number()) : std::nullopt;
}

void JsonMember::refuse_unknown(const std::vector<std::string>& known) const {
  for (const JsonMember& member : members()) {
    const std::string& key = member.path.back();
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string near = did_you_mean(key, known);
    throw Error(ErrorKind::kInput, member.where(), "unknown member '" + key + "'",
                near.empty() ? fmt::format("members are: {}", fmt::join(known, ", ")) : near);
  }
}

}  // namespace plumber
