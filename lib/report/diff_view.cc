// SPDX-License-Identifier: Apache-2.0
#include "report/diff_view.h"

#include <cmath>

#include "report/sections.h"

namespace plumber {
namespace {

constexpr std::size_t kShown = 40;

/// "B runs at 144/s, 1.42 times A's 101/s."
std::optional<Sentence> rate_sentence(const Comparison& comparison) {
  const double before = comparison.rate_before_per_s.value_or(0);
  const double after = comparison.rate_after_per_s.value_or(0);
  if (before <= 0 || after <= 0) return std::nullopt;
  const bool plans = comparison.kind == "plan";
  return Sentence{
      plans ? "B is expected to run at {}, {} times A's {}." : "B ran at {}, {} times A's {}.",
      {{Unit::kPerSecond, after}, {Unit::kNone, after / before}, {Unit::kPerSecond, before}}};
}

Sentence verdict(const Comparison& comparison) {
  const auto changed = static_cast<double>(comparison.differences.size());
  if (changed == 0 && comparison.within == 0) return {"A and B are the same.", {}};
  if (changed == 0)
    return {"No change: A and B differ within noise, in {} numbers.",
            {{Unit::kCount, comparison.within}}};
  return {changed == 1 ? "{} change; {} more numbers differ within noise."
                       : "{} changes; {} more numbers differ within noise.",
          {{Unit::kCount, changed}, {Unit::kCount, comparison.within}}};
}

Table table_of(const Comparison& comparison) {
  Table table;
  table.columns = {{"where", ""},
                   {"", "where", Unit::kNone, true, "Dataset"},
                   {"what", "what"},
                   {"a", "A", Unit::kNone, true},
                   {"b", "B", Unit::kNone, true},
                   {"change", "change", Unit::kShare},
                   {"function", ""}};
  table.shown = kShown;
  for (const Difference& difference : comparison.differences) {
    const std::string& function = difference.function;
    table.rows.push_back(
        {{difference.where, difference.label, difference.what, difference.before, difference.after,
          value_of(difference.change), function.empty() ? Value() : Value(function)}});
  }
  return table;
}

}  // namespace

Report diff_view(const Comparison& comparison) {
  Report report;
  report.sections.push_back(json_field("schema_version", 1.0));
  Prose prose;
  if (!comparison.same_program)
    prose.sentences.push_back({"A and B are of different programs.", {}});
  prose.sentences.push_back(verdict(comparison));
  const auto rates = rate_sentence(comparison);
  if (rates && !comparison.differences.empty()) prose.sentences.push_back(*rates);
  report.sections.push_back({"", "", prose});
  report.sections.push_back(json_field("kind", comparison.kind));
  report.sections.push_back(json_field("same", comparison.differences.empty()));
  report.sections.push_back(json_field("same_program", comparison.same_program));
  report.sections.push_back(json_field("within_noise", comparison.within));
  report.sections.push_back(
      {"differences", comparison.differences.empty() ? "" : "Changes", table_of(comparison)});
  report.csv_section = "differences";
  return report;
}

}  // namespace plumber
