// SPDX-License-Identifier: Apache-2.0
// Numbers for people: three significant digits, a unit, never a locale. What programs read (JSON,
// CSV) is not rounded this way.
//
//   format_seconds(0.00123)  1.23 ms      format_rate(7134)   7.13k/s     format_share(0.957)  96 %
//   format_bytes(963379200)  919 MiB      format_count(12800) 12.8k       format_number(1.5)   1.5
#pragma once

#include <string>

namespace plumber {

std::string format_number(double value);                    // 0.00123, 1.5, 123, 1600, 1.23e+06
std::string format_count(double value);                     // exact below 10,000; then k, M, G
std::string counted(double count, const std::string& one);  // "1 core", "2 cores"
std::string format_seconds(double value_s);                 // ns, us, ms, s
std::string format_rate(double value_per_s);                // "/s" with k, M, G before it
std::string format_bytes(double value_bytes);               // B, KiB, MiB, GiB, TiB
std::string format_bytes_rate(double bytes_per_s);          // MiB/s
std::string format_share(double share);                     // per cent, whole from 1 % on

}  // namespace plumber
