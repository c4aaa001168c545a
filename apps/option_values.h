// SPDX-License-Identifier: Apache-2.0
// Values of options that are neither words nor sizes. `where` is the option's name; an Error of
// kind kUsage quotes what was given.
#pragma once

#include <string>
#include <vector>

namespace plumber {

/// A number above 0, such as "2" or "1.5".
double parse_positive(const std::string& text, const std::string& where);

/// A rate of root elements above 0: "500" or "500/s".
double parse_rate(const std::string& text, const std::string& where);

/// The words of "a,b,c"; none for an empty text.
std::vector<std::string> split_list(const std::string& text);

}  // namespace plumber
