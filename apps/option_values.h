// SPDX-License-Identifier: Apache-2.0
// Values of options that are neither words nor sizes. `where` is the option's name; an Error of
// kind kUsage quotes what was given.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace plumber {

/// What --help says of an option: what to write after it, and what it is for.
struct OptionText {
  const char* value;
  std::string purpose;
};

/// An option with a value, kept as text until it is parsed. Empty: not given.
CLI::Option* add_value(CLI::App& command, const std::string& name, std::string& value,
                       const OptionText& text);

/// A number above 0, such as "2" or "1.5".
double parse_positive(const std::string& text, const std::string& where,
                      const std::string& example = "");

/// The rate, unless none is so high.
double refuse_rate_beyond(double rate_per_s, const std::string& text, const std::string& where);

/// A rate of root elements above 0: "500" or "500/s".
double parse_rate(const std::string& text, const std::string& where);

/// A size. Bytes without a unit are allowed, but so few are a slip for gigabytes; `prefix` is what
/// stands before it, such as "--mem ".
double parse_size(const std::string& text, const std::string& where, const std::string& prefix);

/// A duration. Seconds without a unit are allowed below 1: "20" may be 20 ms, 20 s or 20 min.
double parse_time_s(const std::string& text, const std::string& where);

/// --processes-per-host: a whole number from 1 on; an empty text is 1.
void add_processes(CLI::App& command, std::string& value, const std::string& purpose);
double processes_of(const std::string& text);

/// The words of "a,b,c"; none for an empty text.
std::vector<std::string> split_list(const std::string& text);

/// The way back, for people: "a, b, c".
std::string joined(const std::vector<std::string>& words);

}  // namespace plumber
