// SPDX-License-Identifier: Apache-2.0
// Quantities as people write them on a command line. Strict (no sign, exponent, blank or unknown
// unit), independent of the locale, checked for overflow; an Error of kind kUsage quotes the text
// and shows valid ones. `where` is what the text was given for, such as "--mem".
//
//   300G 300Gi 300GiB  300 * 2^30 bytes         5ms    0.005 s
//   300GB              300 * 10^9 bytes         0.2    0.2 s
//   1.5K 4096          1536, 4096 bytes         200MB/s  200 * 10^6 bytes per second
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumber {

/// Units K M G T P; a fraction of a byte is dropped, so that a budget is never exceeded.
int64_t parse_bytes(std::string_view text, const std::string& where = "");

/// A size followed by "/s".
double parse_bytes_per_s(std::string_view text, const std::string& where = "");

/// Units ns us ms s min h; a plain number is in seconds.
double parse_duration_s(std::string_view text, const std::string& where = "");

}  // namespace plumber
