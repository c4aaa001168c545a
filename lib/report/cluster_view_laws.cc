// SPDX-License-Identifier: Apache-2.0
// The laws of the iteration's time in the report of a fit.
#include <fmt/format.h>

#include <algorithm>

#include "report/cluster_view.h"
#include "report/sections.h"

namespace plumber {
namespace {

Section coefficients_section(const std::string& key, const IterationModel& law) {
  Fields fields;
  for (const Coefficient& one : law.coefficients) {
    fields.fields.push_back(key_value(one.name, one.value));
  }
  return {key, "", fields};
}

Section standard_errors_section(const IterationModel& law) {
  Fields fields;
  for (const Coefficient& one : law.coefficients) {
    fields.fields.push_back(key_value(one.name, value_of(one.standard_error)));
  }
  return {"iteration.standard_errors", "", fields};
}

void add_iteration(Report& report, const IterationFit& fit) {
  const LawResult& chosen = fit.chosen;
  report.sections.push_back(
      {"iteration", "",
       Fields{{key_value("machine", fit.machine), key_value("law", law_word(chosen.law))}}});
  report.sections.push_back(coefficients_section("iteration.coefficients", *chosen.model));
  report.sections.push_back(standard_errors_section(*chosen.model));
  report.sections.push_back(
      {"iteration", "",
       Fields{{key_value("update_s", chosen.model->update_s), key_value("r2", chosen.r2),
               key_value("mean_error", chosen.mean_error),
               key_value("leave_one_out", value_of(chosen.leave_one_out)),
               key_value("why", fit.why)}}});
}

// Two digits: laws that both miss by about 1 % may still differ by a tenth.
Value percent_cell(const std::optional<double>& error) {
  if (!error) return {};
  if (*error < 1e-6) return std::string("0 %");
  return *error < 0.1 ? fmt::format("{:.2g} %", *error * 100)
                      : fmt::format("{:.0f} %", *error * 100);
}

Section compared_section(const IterationFit& fit) {
  Table table;
  table.columns = {{"law", "law"},
                   {"r2", "R2"},
                   {"mean_error", ""},
                   {"leave_one_out", ""},
                   {"", "mean error"},
                   {"", "left out"},
                   {"why_not", "why not", Unit::kNone, true}};
  for (const LawResult& one : fit.compared) {
    const bool fitted = one.model.has_value();
    table.rows.push_back({{law_word(one.law), fitted ? Value(one.r2) : Value(),
                           fitted ? Value(one.mean_error) : Value(), value_of(one.leave_one_out),
                           fitted ? percent_cell(one.mean_error) : Value(),
                           percent_cell(one.leave_one_out), one.why_not},
                          fit.compared.size() > 1 && one.law == fit.chosen.law});
  }
  return {"iteration.compared", "Laws of the iteration's time", table};
}

// Of all machine types together, in the order of their laws.
std::vector<std::string> coefficient_names(const Model& model) {
  std::vector<std::string> names;
  for (const IterationFit& fit : model.iterations) {
    for (const Coefficient& one : fit.chosen.model->coefficients) {
      if (std::find(names.begin(), names.end(), one.name) == names.end()) {
        names.push_back(one.name);
      }
    }
  }
  return names;
}

ReportRow machine_row(const IterationFit& fit, const std::vector<std::string>& all_names) {
  const IterationModel& law = *fit.chosen.model;
  std::vector<std::string> names;
  std::vector<double> values;
  for (const Coefficient& one : law.coefficients) {
    names.push_back(one.name);
    values.push_back(one.value);
  }
  ReportRow row{{fit.machine, law_word(fit.chosen.law), names, values, law.update_s, fit.chosen.r2,
                 fit.chosen.mean_error, value_of(fit.chosen.leave_one_out)},
                false};
  for (const std::string& name : all_names) {
    const auto one = std::find_if(law.coefficients.begin(), law.coefficients.end(),
                                  [&](const Coefficient& c) { return c.name == name; });
    row.cells.push_back(one == law.coefficients.end() ? Value() : value_of(one->standard_error));
  }
  return row;
}

Section machines_section(const Model& model) {
  const std::vector<std::string> names = coefficient_names(model);
  Table table;
  table.columns = {{"machine", ""},  {"law", ""}, {"names", ""},      {"values", ""},
                   {"update_s", ""}, {"r2", ""},  {"mean_error", ""}, {"leave_one_out", ""}};
  for (const std::string& name : names) table.columns.push_back({"standard_errors." + name, ""});
  for (const IterationFit& fit : model.iterations) table.rows.push_back(machine_row(fit, names));
  return {"machines", "", table};
}

Section coefficients_table(const Model& model) {
  Table table;
  table.columns = {{"", model.iterations.size() > 1 ? "machine" : ""},
                   {"", "law"},
                   {"", "coefficient"},
                   {"", "value"},
                   {"", "standard error"}};
  for (const IterationFit& fit : model.iterations) {
    for (const Coefficient& one : fit.chosen.model->coefficients) {
      table.rows.push_back({{fit.machine, law_word(fit.chosen.law), one.name, one.value,
                             value_of(one.standard_error)},
                            false});
    }
  }
  return {"", "Coefficients of the iteration's time, seconds", table};
}

}  // namespace

void add_iteration_laws(Report& report, const Model& model) {
  add_iteration(report, model.iterations[0]);
  report.sections.push_back(compared_section(model.iterations[0]));
  report.sections.push_back(coefficients_table(model));
  report.sections.push_back(machines_section(model));
}

}  // namespace plumber
