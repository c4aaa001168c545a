// SPDX-License-Identifier: Apache-2.0
// Reading JSON documents member by member: each knows where it stands, so that whatever is wrong
// with it is refused with file, line and column.
//
//   const JsonDocument document = parse_document(text, "model.json", "plumber cluster fit writes
//   it"); const double e_star = document.root().at("epochs").at("e_star").number();
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_text.h"

namespace plumber {

struct JsonMember;

struct JsonDocument {
  std::string name;
  std::string text;
  std::string hint;  // what such a file is
  nlohmann::ordered_json json;

  JsonMember root() const;  // valid as long as the document
};

JsonDocument parse_document(std::string_view text, const std::string& name,
                            const std::string& hint);

struct JsonMember {
  const JsonDocument* document = nullptr;
  const nlohmann::ordered_json* value = nullptr;
  JsonPath path;

  [[noreturn]] void refuse(const std::string& message) const;  // with the document's hint
  [[noreturn]] void refuse(const std::string& message, const std::string& hint) const;
  std::string where() const;   // "model.json:3:12"
  std::string dotted() const;  // "runs[3].noise", as messages name it

  bool has(const std::string& key) const;  // and it is not null
  JsonMember at(const std::string& key) const;
  std::vector<JsonMember> elements() const;  // of an array
  std::vector<JsonMember> members() const;   // of an object

  double number() const;
  double positive() const;
  double number_within(double least, double most) const;
  std::string text() const;
  bool flag() const;
  std::pair<double, double> range() const;  // an array of two, ascending
  std::optional<double> number_or_none(const std::string& key) const;

  /// Refuses members that are not in `known`, with the nearest that is.
  void refuse_unknown(const std::vector<std::string>& known) const;
};

}  // namespace plumber
