// SPDX-License-Identifier: Apache-2.0
#include "report/value_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/number_format.h"
#include "base/printable.h"

namespace plumber {
namespace {

// Hundredths of a core are as much as a trace can tell.
std::string readable_cores(double cores) {
  if (cores > 0 && cores < 0.005) return "<0.01";
  return cores < 100 ? fmt::format("{:.2f}", cores) : format_number(cores);
}

std::string readable_number(double number, Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return format_number(number);
    case Unit::kCount:
      return format_count(number);
    case Unit::kSeconds:
      return format_seconds(number);
    case Unit::kPerSecond:
      return format_rate(number);
    case Unit::kGainPerSecond:
      return (number < 0 ? "" : "+") + format_rate(number);
    case Unit::kBytes:
      return format_bytes(number);
    case Unit::kBytesPerSecond:
      return format_bytes_rate(number);
    case Unit::kShare:
      return format_share(number);
    case Unit::kCores:
      return readable_cores(number);
  }
  return {};
}

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

// Byte offset of the character with that index.
std::size_t offset_of(const std::string& text, std::size_t character) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (starts_character(text[i]) && seen++ == character) return i;
  }
  return text.size();
}

struct ReadableValue {
  Unit unit;
  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(bool flag) const { return flag ? "yes" : "no"; }
  std::string operator()(double number) const { return readable_number(number, unit); }
  std::string operator()(const std::string& text) const {
    return text.empty() ? "-" : printable(text);
  }
  std::string operator()(const std::vector<std::string>& list) const {
    return list.empty() ? "-" : printable(fmt::format("{}", fmt::join(list, ", ")));
  }
  std::string operator()(const std::vector<double>& list) const {
    std::string text;
    for (const double number : list) {
      text += (text.empty() ? "" : " to ") + readable_number(number, unit);
    }
    return text.empty() ? "-" : text;
  }
};

}  // namespace

std::string readable(const Value& value, Unit unit) {
  return std::visit(ReadableValue{unit}, value);
}

std::string readable(const Sentence& sentence) {
  std::string text;
  std::size_t from = 0;
  for (const auto& [unit, value] : sentence.values) {
    const std::size_t place = sentence.pattern.find("{}", from);
    if (place == std::string::npos) break;
    text += sentence.pattern.substr(from, place - from) + readable(value, unit);
    from = place + 2;
  }
  return text + sentence.pattern.substr(from);
}

std::string exact(double number) {
  if (!std::isfinite(number)) return "null";
  if (number == std::floor(number) && std::abs(number) < 0x1p53) {
    return fmt::format("{}", static_cast<std::int64_t>(number));
  }
  return fmt::format("{:.9g}", number);
}

std::size_t width_of(const std::string& text) {
  std::size_t characters = 0;
  for (const char byte : text) characters += starts_character(byte) ? 1 : 0;
  return characters;
}

std::string elide_middle(const std::string& text, std::size_t width) {
  const std::size_t size = width_of(text);
  if (size <= width) return text;
  if (width < 5) return text.substr(0, offset_of(text, width));
  const std::size_t left = (width - 3) / 2;
  const std::size_t right = width - 3 - left;
  return text.substr(0, offset_of(text, left)) + "..." + text.substr(offset_of(text, size - right));
}

std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t end = std::min(text.find_first_of(" \n", from), text.size());
    const std::string word = text.substr(from, end - from);
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (width_of(line) + 1 + width_of(word) <= width) {
      line += " " + word;
    } else {
      lines.push_back(word);
    }
    if (end < text.size() && text[end] == '\n') lines.emplace_back();
    from = end + 1;
  }
  return lines;
}

}  // namespace plumber
