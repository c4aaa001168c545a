// SPDX-License-Identifier: Apache-2.0
#include "base/number_format.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

namespace plumber {
namespace {

struct Scale {
  double factor;
  const char* unit;
};

// Rounds to three significant digits before the unit is chosen: 1023.9 KiB is 1 MiB, not 1024 KiB.
double three_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double step = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 2);
  return step >= 1 ? std::round(value / step) * step : std::round(value / step) / (1 / step);
}

std::string plain(double value) {
  const double size = std::abs(value);
  if (size != 0 && size < 1e-4) return fmt::format("{:.3g}", value);
  if (size >= 100) return fmt::format("{:.0f}", value);
  const int decimals = size >= 10 ? 1 : size >= 1 || size == 0 ? 2 : size >= 0.1 ? 3 : 5;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string scaled(double value, std::span<const Scale> scales) {
  if (!std::isfinite(value)) return "unknown";
  const Scale* chosen = &scales.front();
  for (const Scale& scale : scales) {
    if (std::abs(three_digits(value / scale.factor)) >= 1) chosen = &scale;
  }
  return plain(three_digits(value / chosen->factor)) + chosen->unit;
}

constexpr Scale kSeconds[] = {{1e-9, " ns"}, {1e-6, " us"}, {1e-3, " ms"}, {1, " s"}};
constexpr Scale kBytes[] = {
    {1, " B"}, {0x1p10, " KiB"}, {0x1p20, " MiB"}, {0x1p30, " GiB"}, {0x1p40, " TiB"}};
constexpr Scale kThousands[] = {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}};

}  // namespace

std::string format_number(double value) {
  if (!std::isfinite(value)) return "unknown";
  return std::abs(value) >= 1e6 ? fmt::format("{:.3g}", value) : plain(three_digits(value));
}

std::string format_count(double value) {
  const bool small_integer = std::abs(value) < 10000 && value == std::floor(value);
  return small_integer ? fmt::format("{:.0f}", value) : scaled(value, kThousands);
}

std::string counted(double count, const std::string& one) {
  return format_count(count) + " " + one + (count == 1 ? "" : "s");
}

std::string format_seconds(double value_s) {
  return value_s == 0 ? "0 s" : scaled(value_s, kSeconds);
}

std::string format_rate(double value_per_s) { return scaled(value_per_s, kThousands) + "/s"; }

std::string format_bytes(double value_bytes) { return scaled(value_bytes, kBytes); }

std::string format_bytes_rate(double bytes_per_s) { return scaled(bytes_per_s, kBytes) + "/s"; }

std::string format_share(double share) {
  if (!std::isfinite(share)) return "unknown";
  const double per_cent = 100 * share;
  if (per_cent != 0 && std::abs(per_cent) < 0.95) return fmt::format("{:.1g} %", per_cent);
  return fmt::format("{:.0f} %", per_cent);
}

}  // namespace plumber
