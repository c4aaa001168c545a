// SPDX-License-Identifier: Apache-2.0
#include "report/cluster_view.h"
#include "report/sections.h"

namespace plumber {
namespace {

Sentence headline(const NoiseResult& result) {
  if (result.stable) {
    return {"The noise settled at step {}; at the last step it is {} of {} workers, {} normalised.",
            {{Unit::kCount, *result.stable_at_step},
             {Unit::kNone, result.noise},
             {Unit::kCount, result.series.back().workers},
             {Unit::kNone, result.normalized}}};
  }
  return {"The noise has not settled: {} of {} workers at the last step, {} normalised.",
          {{Unit::kNone, result.noise},
           {Unit::kCount, result.series.back().workers},
           {Unit::kNone, result.normalized}}};
}

Sentence evidence(const NoiseResult& result) {
  if (!result.evidence) {
    return {"The log is shorter than two spans of {} steps, which the verdict needs.",
            {{Unit::kCount, result.options.span_steps}}};
  }
  return {"Means over two spans of {} steps: {} and {}, a change of {} (at most {}) for {} steps.",
          {{Unit::kCount, result.options.span_steps},
           {Unit::kNone, result.evidence->earlier_mean},
           {Unit::kNone, result.evidence->later_mean},
           {Unit::kShare, result.evidence->change},
           {Unit::kShare, result.options.tolerance},
           {Unit::kCount, result.evidence->held_steps}}};
}

Section evidence_section(const NoiseResult& result) {
  if (!result.evidence) return json_field("evidence", {});
  return {"evidence", "",
          Fields{{key_value("earlier_mean", result.evidence->earlier_mean),
                  key_value("later_mean", result.evidence->later_mean),
                  key_value("change", result.evidence->change),
                  key_value("held_steps", result.evidence->held_steps)}}};
}

Section series_section(const NoiseResult& result) {
  Table table;
  table.columns = {{"step", "", Unit::kCount},    {"workers", "", Unit::kCount},
                   {"noise", "", Unit::kNone},    {"normalized", "", Unit::kNone},
                   {"b_simple", "", Unit::kNone}, {"adascale_gain", "", Unit::kNone}};
  for (const NoisePoint& point : result.series) {
    table.rows.push_back({{point.step, point.workers, point.noise, point.normalized,
                           value_of(point.b_simple), value_of(point.adascale_gain)},
                          false});
  }
  return {"series", "", table};
}

void add_other_scales(Prose& prose, const NoisePoint& last) {
  if (last.b_simple) {
    prose.sentences.push_back(
        {"McCandlish's critical batch (B_simple): {} samples.", {{Unit::kNone, *last.b_simple}}});
  }
  if (last.adascale_gain) {
    prose.sentences.push_back({"AdaScale's gain: {} of at most {}.",
                               {{Unit::kNone, *last.adascale_gain}, {Unit::kCount, last.workers}}});
  }
}

}  // namespace

Report noise_view(const NoiseResult& result) {
  const NoisePoint& last = result.series.back();
  Prose prose{{headline(result), evidence(result)}};
  add_other_scales(prose, last);
  Report report;
  report.sections.push_back({"", "", prose});
  report.sections.push_back(
      {"", "",
       Fields{{key_value("schema_version", 1.0), key_value("noise", result.noise),
               key_value("normalized", result.normalized), key_value("stable", result.stable),
               key_value("stable_at_step", value_of(result.stable_at_step)),
               key_value("b_simple", value_of(last.b_simple)),
               key_value("adascale_gain", value_of(last.adascale_gain))}}});
  report.sections.push_back(evidence_section(result));
  report.sections.push_back(
      {"smoothing", "",
       Fields{{key_value("alpha", result.options.alpha),
               key_value("window_steps", static_cast<double>(result.options.window)),
               key_value("span_steps", result.options.span_steps),
               key_value("tolerance", result.options.tolerance)}}});
  report.sections.push_back(json_field("restarts_at_step", result.restarts_at_step));
  report.sections.push_back(series_section(result));
  report.sections.push_back(warnings_section(result.warnings));
  report.csv_section = "series";
  return report;
}

}  // namespace plumber
