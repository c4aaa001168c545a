// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"

namespace plumber {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDeepest = 32;

// One object or array that the scanner is in.
struct Level {
  bool is_array = false;
  std::size_t index = 0;  // of the element
  std::string key;        // of the member
  bool on_path = false;   // all levels down to this one are those of the path
  std::set<std::string> keys;
};

// Walks the tokens of valid JSON and remembers the last value on the path.
class Scanner {
 public:
  Scanner(std::string_view text, JsonPath path) : text_(text), path_(std::move(path)) {}

  /// The byte where the value on the path begins, or the innermost one around it.
  std::size_t find() {
    at_ = text_.find_first_not_of(" \t\r\n");
    while (at_ < text_.size() && !done_) step();
    return found_;
  }

  /// Reads all of it for what is wrong although it is JSON.
  void check() {
    at_ = 0;
    while (at_ < text_.size()) {
      step();
      done_ = false;
    }
  }
  std::optional<std::size_t> deep_at() const { return deep_at_; }
  std::optional<std::size_t> twice_at() const { return twice_at_; }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '{' || c == '[') {
      const bool on_path = value_here();
      levels_.push_back({c == '[', 0, "", on_path, {}});
      if (levels_.size() > kDeepest && !deep_at_) deep_at_ = at_;
      ++at_;
    } else if (c == '}' || c == ']') {
      done_ = levels_.back().on_path;  // nothing behind it is nearer
      levels_.pop_back();
      ++at_;
    } else if (c == ',') {
      ++levels_.back().index;
      levels_.back().key.clear();
      ++at_;
    } else if (c == '"') {
      text_or_key();
    } else if (std::string_view(" \t\r\n:").find(c) != std::string_view::npos) {
      ++at_;
    } else {
      value_here();
      at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    }
  }

  void text_or_key() {
    const std::size_t begin = at_;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
    const bool is_key = !levels_.empty() && !levels_.back().is_array &&
                        next != std::string_view::npos && text_[next] == ':';
    if (is_key) {
      levels_.back().key = std::string(text_.substr(begin + 1, at_ - begin - 2));
      if (!levels_.back().keys.insert(levels_.back().key).second && !twice_at_) twice_at_ = begin;
    } else {
      const std::size_t end = at_;
      at_ = begin;
      value_here();
      at_ = end;
    }
  }

  // Whether the value that begins here is the path's at this depth.
  bool value_here() {
    const std::size_t depth = levels_.size();
    bool on_path = depth == 0;
    if (depth > 0 && depth <= path_.size() && levels_.back().on_path) {
      const Level& level = levels_.back();
      on_path = path_[depth - 1] == (level.is_array ? std::to_string(level.index) : level.key);
    }
    if (!on_path) return false;
    found_ = at_;
    done_ = depth == path_.size();
    return true;
  }

  std::string_view text_;
  JsonPath path_;
  std::size_t at_ = 0, found_ = 0;
  std::vector<Level> levels_;
  bool done_ = false;
  std::optional<std::size_t> deep_at_, twice_at_;
};

// What the parser says behind its own code and place: "[json.exception...] parse error at line 1,
// column 2: syntax error while ...; expected ..." -> "syntax error while ...; expected ...".
std::string reason_of(const Json::parse_error& error) {
  const std::string what = error.what();
  const std::size_t place = what.find(": ");
  return "no JSON: " + (place == std::string::npos ? what : what.substr(place + 2));
}

[[noreturn]] void refuse(const std::string& where, const std::string& message,
                         const std::string& hint) {
  throw Error(ErrorKind::kInput, where, message, hint);
}

}  // namespace

std::string place_in_text(std::string_view text, const std::string& name, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_end = before.rfind('\n');
  const std::size_t column =
      line_end == std::string_view::npos ? before.size() + 1 : before.size() - line_end;
  return fmt::format("{}:{}:{}", name, line, column);
}

std::string json_place(std::string_view text, const std::string& name, const JsonPath& path) {
  return place_in_text(text, name, Scanner(text, path).find());
}

Json parse_json_object(std::string_view text, const std::string& name, const std::string& hint) {
  if (text.starts_with("\xEF\xBB\xBF")) {  // the parser would skip it
    refuse(place_in_text(text, name, 0), "no JSON: a byte-order mark", hint);
  }
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    refuse(place_in_text(text, name, error.byte > 0 ? error.byte - 1 : 0), reason_of(error), hint);
  } catch (const Json::out_of_range& error) {  // "...number overflow parsing '1e999'"
    const std::string what = error.what();
    const std::size_t quote = std::min(what.find('\''), what.size() - 1);
    const std::string number = what.substr(quote + 1, what.rfind('\'') - quote - 1);
    refuse(place_in_text(text, name, text.find(number)), "the number " + number + " is too large",
           hint);
  }
  if (!json.is_object()) refuse(json_place(text, name, {}), "not a JSON object", hint);
  Scanner scanner(text, {});
  scanner.check();
  if (scanner.deep_at()) {
    refuse(place_in_text(text, name, *scanner.deep_at()),
           fmt::format("nested deeper than {} levels", kDeepest), hint);
  }
  if (scanner.twice_at()) {
    refuse(place_in_text(text, name, *scanner.twice_at()), "this member is there twice",
           "keep one of them");
  }
  return json;
}

}  // namespace plumber
