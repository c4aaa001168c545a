// SPDX-License-Identifier: Apache-2.0
#include "report/cluster_view.h"

#include <fmt/format.h>

#include "report/sections.h"

namespace plumber {

Field key_value(const std::string& key, Value value) {
  return {key, "", Unit::kNone, std::move(value)};
}

std::string whole(double count) { return fmt::format("{:.10g}", count); }

Value pair_value(const Range& range) { return std::vector<double>{range.first, range.second}; }

Section warnings_section(const std::vector<std::string>& warnings) {
  return json_field("warnings", warnings);
}

std::string hours_text(double hours) {
  return hours < 1 ? fmt::format("{:.3g} min", hours * 60) : fmt::format("{:.4g} h", hours);
}

std::string dollars_text(double usd) {
  if (usd >= 1e15) return fmt::format("${:.4g}", usd);
  return usd > 0 && usd < 0.095 ? fmt::format("${:.2g}", usd) : fmt::format("${:.2f}", usd);
}

}  // namespace plumber
