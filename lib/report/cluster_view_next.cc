// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/cluster_view.h"
#include "report/sections.h"

namespace plumber {
namespace {

std::string configuration_text(const Configuration& at) {
  return fmt::format("{:.6g} worker{} with batch {:.6g}", at.workers, at.workers == 1 ? "" : "s",
                     at.global_batch);
}

Sentence first_sentence(const SearchOutcome& result) {
  if (!result.next) return {"Stop exploring: {}.", {{Unit::kNone, result.why}}};
  return {"Profile {} for {} iterations: {}.",
          {{Unit::kNone, configuration_text(result.next->at)},
           {Unit::kCount, result.next->iterations},
           {Unit::kNone, result.why}}};
}

Prose headline(const SearchOutcome& result) {
  Prose prose{{first_sentence(result)}};
  if (result.next && result.next->seconds) {
    prose.sentences.push_back({"It takes {} and costs {}.",
                               {{Unit::kSeconds, *result.next->seconds},
                                {Unit::kNone, dollars_text(*result.next->cost_usd)}}});
  } else if (result.next) {
    prose.sentences.push_back({"What it costs is not known before an iteration there is.", {}});
    if (result.next->most_seconds) {
      prose.sentences.push_back(
          {"Stop it after {}, restoring included: then the budget for exploring is spent.",
           {{Unit::kSeconds, *result.next->most_seconds}}});
    }
  }
  if (result.best) {
    prose.sentences.push_back({"Best as far as is known (by {}): {}, {} and {}.",
                               {{Unit::kNone, result.model_source},
                                {Unit::kNone, configuration_text(result.best->at)},
                                {Unit::kNone, (result.best->at_most() ? "at most " : "") +
                                                  hours_text(result.best->hours)},
                                {Unit::kNone, dollars_text(result.best->cost_usd)}}});
  }
  prose.sentences.push_back({"Spent on exploring: {}, {}.",
                             {{Unit::kNone, hours_text(result.spent_hours)},
                              {Unit::kNone, dollars_text(result.spent_usd)}}});
  return prose;
}

Section next_section(const SearchOutcome& result) {
  if (!result.next) return json_field("next", {});
  const SearchStep& step = *result.next;
  return {
      "next", "",
      Fields{
          {key_value("workers", step.at.workers), key_value("global_batch", step.at.global_batch),
           key_value("iterations", step.iterations), key_value("seconds", value_of(step.seconds)),
           key_value("cost_usd", value_of(step.cost_usd)),
           key_value("expected_improvement", value_of(step.expected_improvement)),
           key_value("most_seconds", value_of(step.most_seconds))}}};
}

Section best_section(const SearchOutcome& result) {
  if (!result.best) return json_field("best", {});
  const Outcome& best = *result.best;
  return {"best", "",
          Fields{{key_value("workers", best.at.workers),
                  key_value("global_batch", best.at.global_batch), key_value("epochs", best.epochs),
                  key_value("iteration_s", best.iteration_s), key_value("hours", best.hours),
                  key_value("cost_usd", best.cost_usd), key_value("at_most", best.at_most()),
                  key_value("profiled", best.profiled)}}};
}

ReportRow step_row(const char* status, const SearchStep& step) {
  return {{std::string(status), step.at.workers, step.at.global_batch, step.iterations,
           value_of(step.seconds), value_of(step.cost_usd), value_of(step.expected_improvement)},
          false};
}

Section steps_section(const SearchOutcome& result) {
  Table table;
  for (const char* key : {"status", "workers", "global_batch", "iterations", "seconds", "cost_usd",
                          "expected_improvement"}) {
    table.columns.push_back({key, ""});
  }
  for (const SearchStep& step : result.explored) table.rows.push_back(step_row("explored", step));
  if (result.next) table.rows.push_back(step_row("next", *result.next));
  return {"steps", "", table};
}

}  // namespace

Report search_view(const SearchOutcome& result) {
  Report report;
  report.sections.push_back({"", "", headline(result)});
  report.sections.push_back(
      {"", "",
       Fields{{key_value("schema_version", 1.0), key_value("done", result.done),
               key_value("why", result.why)}}});
  report.sections.push_back(next_section(result));
  report.sections.push_back(best_section(result));
  report.sections.push_back(json_field(
      "model_source", result.model_source.empty() ? Value() : Value(result.model_source)));
  report.sections.push_back(
      {"spent", "",
       Fields{{key_value("hours", result.spent_hours), key_value("cost_usd", result.spent_usd)}}});
  report.sections.push_back(steps_section(result));
  report.sections.push_back(warnings_section(result.warnings));
  report.csv_section = "steps";
  return report;
}

}  // namespace plumber
