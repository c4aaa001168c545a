// SPDX-License-Identifier: Apache-2.0
#include "report/curve_view.h"

#include "report/sections.h"
#include "report/words.h"

namespace plumber {
namespace {

Table points_table(const Pipeline& pipeline, const RateCurve& curve) {
  Table table;
  const bool cores = curve.what == Swept::kCores;
  table.columns = {{"cores", cores ? "cores" : "", Unit::kCount},
                   {"memory_bytes", cores ? "" : "memory", Unit::kBytes},
                   {"rate_per_s", "", Unit::kPerSecond},
                   {"", "rate", Unit::kPerSecond},
                   {"bound", "", Unit::kNone},
                   {"", "limited by", Unit::kNone},
                   {"nodes", "", Unit::kNone}};
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const RatePoint& point = curve.points[i];
    ReportRow row{{point.cores, point.memory_bytes, point.rate_per_s, Value(), Value(),
                   "does not fit", std::vector<std::string>{}},
                  curve.knee == i};
    if (point.fits) row.cells[3] = point.rate_per_s;
    if (point.fits && point.bound) {
      row.cells[4] = word_of(point.bound->kind);
      row.cells[5] = binding_of(point.bound->kind);
      row.cells[6] = names_of(pipeline, point.bound->nodes);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Sentence knee_sentence(const RateCurve& curve) {
  if (!curve.knee) return {"The curve has no knee: {}.", {{Unit::kNone, curve.why}}};
  const RatePoint& point = curve.points[*curve.knee];
  const bool cores = curve.what == Swept::kCores;
  const std::string unit = !cores ? "" : point.cores == 1 ? " core" : " cores";
  return {"The knee is at {}" + unit + ": {} there, {} at the end.",
          {{cores ? Unit::kCount : Unit::kBytes, cores ? point.cores : point.memory_bytes},
           {Unit::kPerSecond, point.rate_per_s},
           {Unit::kPerSecond, curve.points.back().rate_per_s}}};
}

Section knee_section(const RateCurve& curve) {
  if (!curve.knee) return json_field("knee", Value());
  const RatePoint& point = curve.points[*curve.knee];
  return {"knee", "",
          Fields{{{"cores", "", Unit::kCount, point.cores},
                  {"memory_bytes", "", Unit::kBytes, point.memory_bytes},
                  {"rate_per_s", "", Unit::kPerSecond, point.rate_per_s},
                  {"method", "", Unit::kNone, curve.method}}}};
}

}  // namespace

Report curve_view(const Pipeline& pipeline, const RateCurve& curve) {
  Report report;
  report.csv_section = "curve";
  report.sections.push_back({"", "", Prose{{knee_sentence(curve)}}});
  report.sections.push_back(json_field("schema_version", 1.0));
  report.sections.push_back(json_field("of", curve.what == Swept::kCores ? "cores" : "memory"));
  report.sections.push_back(
      {"curve", curve.what == Swept::kCores ? "Rate against cores" : "Rate against memory",
       points_table(pipeline, curve)});
  report.sections.push_back(knee_section(curve));
  return report;
}

}  // namespace plumber
