// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace plumber {
namespace {

constexpr double kBytesEnd = 0x1p63;  // the first size that an int64_t cannot hold

struct Number {
  double value = 0;
  std::optional<int64_t> whole;  // exact, where the text has no fraction
  std::string_view unit;         // what follows the digits
};

/// Digits, at most one point with digits on both sides, then the unit.
std::optional<Number> split_number(std::string_view text) {
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view digits = text.substr(0, end);
  const size_t point = digits.find('.');
  if (digits.empty() || digits.front() == '.' || digits.back() == '.') return std::nullopt;
  if (point != std::string_view::npos && digits.find('.', point + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  Number number;
  number.unit = text.substr(end);
  const char* last = digits.data() + digits.size();
  if (std::from_chars(digits.data(), last, number.value).ec != std::errc()) return std::nullopt;
  if (point == std::string_view::npos) {
    int64_t whole = 0;
    if (std::from_chars(digits.data(), last, whole).ec == std::errc()) number.whole = whole;
  }
  return number;
}

/// Bytes of "", "B", "G", "Gi", "GiB" (2^30) and "GB" (10^9).
std::optional<int64_t> bytes_of_unit(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  const size_t power = std::string_view("KMGTP").find(unit.front());
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  if (!rest.empty() && rest != "i" && rest != "iB" && rest != "B") return std::nullopt;
  int64_t bytes = 1;
  for (size_t i = 0; i <= power; ++i) bytes *= rest == "B" ? 1000 : 1024;
  return bytes;
}

std::optional<double> seconds_of_unit(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  static constexpr std::array<Unit, 7> kUnits = {
      {{"", 1}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}}};
  for (const Unit& known : kUnits) {
    if (known.name == unit) return known.seconds;
  }
  return std::nullopt;
}

Error wrong(std::string_view text, const std::string& where, const char* what, const char* hint) {
  return Error(ErrorKind::kUsage, where, fmt::format("'{}' is {}", text, what), hint);
}

constexpr char kSizeHint[] =
    "write 300G or 300GiB (units of 2^30), 300GB (units of 10^9), 1.5T, 512M or plain bytes";
constexpr char kRateHint[] = "write 200MB/s, 1.5G/s or 500000/s";
constexpr char kDurationHint[] = "write 5ms, 0.2s, 2min or plain seconds below 1 such as 0.2";

/// No value where the text is no size.
std::optional<int64_t> bytes_of(std::string_view text, bool& too_large) {
  const std::optional<Number> number = split_number(text);
  if (!number) return std::nullopt;
  const std::optional<int64_t> unit = bytes_of_unit(number->unit);
  if (!unit) return std::nullopt;
  int64_t product = 0;
  if (number->whole && !__builtin_mul_overflow(*number->whole, *unit, &product)) return product;
  const double bytes = number->value * static_cast<double>(*unit);
  too_large = bytes >= kBytesEnd;
  if (too_large || *unit == 1) return std::nullopt;  // half a byte is a slip, not a size
  return static_cast<int64_t>(std::floor(bytes));
}

}  // namespace

int64_t parse_bytes(std::string_view text, const std::string& where) {
  bool too_large = false;
  if (const std::optional<int64_t> bytes = bytes_of(text, too_large)) return *bytes;
  throw wrong(text, where, too_large ? "too large a size" : "not a size", kSizeHint);
}

double parse_bytes_per_s(std::string_view text, const std::string& where) {
  bool too_large = false;
  if (text.ends_with("/s")) {
    const std::optional<int64_t> bytes = bytes_of(text.substr(0, text.size() - 2), too_large);
    if (bytes) return static_cast<double>(*bytes);
  }
  throw wrong(text, where, too_large ? "too large a rate" : "not a rate of bytes", kRateHint);
}

double parse_duration_s(std::string_view text, const std::string& where) {
  const std::optional<Number> number = split_number(text);
  const std::optional<double> unit = number ? seconds_of_unit(number->unit) : std::nullopt;
  if (!unit) throw wrong(text, where, "not a duration", kDurationHint);
  const double seconds = number->value * *unit;
  if (!std::isfinite(seconds)) throw wrong(text, where, "too long a duration", kDurationHint);
  return seconds;
}

}  // namespace plumber
