// SPDX-License-Identifier: Apache-2.0
#include "option_values.h"

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/quantity.h"

namespace plumber {

namespace {

constexpr std::string_view kPowers = "kMG";  // of 1000, as reports print rates

bool is_bare(const std::string& text) {
  return text.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

CLI::Option* add_value(CLI::App& command, const std::string& name, std::string& value,
                       const OptionText& text) {
  return command.add_option(name, value, text.purpose)->type_name(text.value);
}

double parse_positive(const std::string& text, const std::string& where,
                      const std::string& example) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  const std::string hint = example.empty() ? "write " + where + " 4 or " + where + " 1.5"
                                           : "write " + where + " " + example;
  if (problem == std::errc::result_out_of_range || std::isinf(number)) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is too large or too small", hint);
  }
  if (problem != std::errc() || stop != end || std::isnan(number)) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is not a number", hint);
  }
  if (number <= 0) throw Error(ErrorKind::kUsage, where, "'" + text + "' is not above 0", hint);
  return number;
}

double parse_size(const std::string& text, const std::string& where, const std::string& prefix) {
  constexpr double kLeast_bytes = 1024;
  const auto bytes = static_cast<double>(parse_bytes(text, where));
  if (!is_bare(text) || bytes >= kLeast_bytes) return bytes;
  throw Error(ErrorKind::kUsage, where,
              text + (bytes == 1 ? " is 1 byte" : " is " + text + " bytes"),
              "for GiB write " + prefix + text + "G");
}

double parse_time_s(const std::string& text, const std::string& where) {
  const double time_s = parse_duration_s(text, where);
  if (!is_bare(text) || time_s < 1) return time_s;
  throw Error(ErrorKind::kUsage, where, "'" + text + "' has no unit",
              "write " + where + " " + text + "ms, or " + text + "s for seconds");
}

void add_processes(CLI::App& command, std::string& value, const std::string& purpose) {
  add_value(command, "--processes-per-host", value, {"N", purpose + " (default: 1)"});
}

double processes_of(const std::string& text) {
  constexpr const char* kWhere = "--processes-per-host";
  if (text.empty()) return 1;
  const double processes = parse_positive(text, kWhere, "8");
  if (processes == std::floor(processes)) return processes;
  throw Error(ErrorKind::kUsage, kWhere, "'" + text + "' is not a whole number",
              std::string("write ") + kWhere + " 8");
}

double refuse_rate_beyond(double rate_per_s, const std::string& text, const std::string& where) {
  constexpr double kMost_per_s = 1e12;
  if (rate_per_s <= kMost_per_s) return rate_per_s;
  throw Error(ErrorKind::kUsage, where, "'" + text + "' is faster than any pipeline",
              "rates are of root elements, such as batches");
}

double parse_rate(const std::string& text, const std::string& where) {
  std::string number = text;
  if (number.size() > 2 && number.ends_with("/s")) number.resize(number.size() - 2);
  const std::size_t power = number.empty() ? std::string::npos : kPowers.find(number.back());
  if (power == std::string::npos)
    return refuse_rate_beyond(parse_positive(number, where), text, where);
  number.pop_back();
  const double factor = std::pow(1000.0, static_cast<double>(power + 1));
  return refuse_rate_beyond(parse_positive(number, where) * factor, text, where);
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
