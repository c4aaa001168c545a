// SPDX-License-Identifier: Apache-2.0
#include "option_values.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace plumber {

CLI::Option* add_value(CLI::App& command, const std::string& name, std::string& value,
                       const OptionText& text) {
  return command.add_option(name, value, text.purpose)->type_name(text.value);
}

double parse_positive(const std::string& text, const std::string& where) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  const std::string hint = "write " + where + " 4 or " + where + " 1.5";
  if (problem == std::errc::result_out_of_range || std::isinf(number)) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is too large or too small", hint);
  }
  if (problem != std::errc() || stop != end || std::isnan(number)) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is not a number", hint);
  }
  if (number <= 0) throw Error(ErrorKind::kUsage, where, "'" + text + "' is not above 0", hint);
  return number;
}

double parse_rate(const std::string& text, const std::string& where) {
  const bool with_unit = text.size() > 2 && text.ends_with("/s");
  return parse_positive(with_unit ? text.substr(0, text.size() - 2) : text, where);
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> words;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    if (comma > from) words.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace plumber
