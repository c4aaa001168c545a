// SPDX-License-Identifier: Apache-2.0
#include "cluster/norm_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/error.h"
#include "cluster/table_file.h"

namespace plumber {
namespace {

// What the lines of all logs say of one step.
struct StepNorms {
  double local_sum = 0;
  double local_count = 0;
  std::optional<double> summed;  // of all workers at once
  std::optional<double> aggregate;
};

using StepsByNumber = std::map<double, StepNorms>;

[[noreturn]] void refuse(const std::string& where, const std::string& message,
                         const std::string& hint = "") {
  throw Error(ErrorKind::kInput, where, message, hint);
}

// The number after the word, and the step after the word that comes next.
std::optional<std::pair<double, double>> value_and_step(const std::string& line,
                                                        const std::string& word,
                                                        const std::string& step_word) {
  std::size_t at = line.find(word);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(at + word.size()));
  std::string value, name, step;
  rest >> value >> name >> step;
  const auto number = number_of(value), step_number = number_of(step);
  if (!number || name != step_word || !step_number) return std::nullopt;
  return std::pair(*number, *step_number);
}

bool take_line(const std::string& line, StepsByNumber& steps) {
  bool taken = false;
  if (const auto local = value_and_step(line, "local_worker_norm_sqr", "globalstep")) {
    steps[local->second].local_sum += local->first;
    steps[local->second].local_count += 1;
    taken = true;
  }
  if (const auto whole = value_and_step(line, "aggregated_norm_sqr", "globalstep")) {
    steps[whole->second].aggregate = whole->first;
    taken = true;
  }
  if (const auto sum = value_and_step(line, "adascale_sum", "glob_step")) {
    steps[sum->second].summed = sum->first;
    taken = true;
  }
  if (const auto whole = value_and_step(line, "agg_ADASCALE", "glob_step")) {
    steps[whole->second].aggregate = whole->first;
    taken = true;
  }
  if (taken) return true;
  const std::size_t comma = line.find(',');  // a line of a window file
  if (comma == std::string::npos) return false;
  const auto step = number_of(line.substr(0, comma)), norm = number_of(line.substr(comma + 1));
  if (!step || !norm) return false;
  steps[*step].aggregate = *norm;
  return true;
}

NormStep step_of(double number, const StepNorms& norms, std::optional<double> workers) {
  NormStep step;
  step.step = number;
  step.workers = workers.value_or(norms.local_count);
  if (norms.summed) {
    if (!workers) {
      refuse(fmt::format("step {}", number), "the log sums over workers without saying how many",
             "give --workers K");
    }
    step.mean_local_sqr_norm = *norms.summed / *workers;
  } else {
    step.mean_local_sqr_norm = norms.local_sum / norms.local_count;
  }
  step.aggregate_sqr_norm = *norms.aggregate;
  return step;
}

NormStep step_of(const TableRow& row, std::optional<double> workers) {
  NormStep step;
  step.step = number_in(row, "step").value_or(-1);
  if (step.step < 0) refuse(row.where, "column 'step' is empty or negative");
  const auto said = optional_positive_in(row, "workers");
  if (!said && !workers) refuse(row.where, "no number of workers", "give --workers K");
  step.workers = said ? *said : *workers;
  step.noise = optional_positive_in(row, "noise");
  if (!step.noise) {
    step.mean_local_sqr_norm = number_in(row, "mean_local_sqr_norm").value_or(-1);
    step.aggregate_sqr_norm = number_in(row, "aggregate_sqr_norm").value_or(-1);
  }
  step.global_batch = optional_positive_in(row, "global_batch");
  step.learning_rate = optional_positive_in(row, "learning_rate");
  return step;
}

// Eq. 2 divides by the aggregate: a zero gradient has no noise.
void check(const NormStep& step, const std::string& where) {
  if (step.noise) return;
  if (step.mean_local_sqr_norm < 0 || step.aggregate_sqr_norm < 0) {
    refuse(where, "a squared norm is missing or negative");
  }
  if (step.aggregate_sqr_norm == 0) {
    refuse(where, "the aggregated gradient is zero: the noise divides by it");
  }
}

bool is_table(const std::string& text) {
  const std::string head = text.substr(0, text.find('\n'));
  return head.find("step") != std::string::npos &&
         (head[0] == '{' || head.find(',') != std::string::npos) &&
         head.find("globalstep") == std::string::npos;
}

std::vector<NormStep> norms_of_table(const LogText& log, std::optional<double> workers) {
  const InputTable table = parse_table(log.text, log.name);
  require_column(table, "step");
  const bool with_noise = table.rows[0].cells.count("noise") > 0;
  for (const char* column : {"mean_local_sqr_norm", "aggregate_sqr_norm"}) {
    if (!with_noise) require_column(table, column);
  }
  std::vector<NormStep> steps;
  for (const TableRow& row : table.rows) {
    steps.push_back(step_of(row, workers));
    check(steps.back(), row.where);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const NormStep& a, const NormStep& b) { return a.step < b.step; });
  return steps;
}

}  // namespace

std::vector<NormStep> read_norms(const std::vector<LogText>& logs, std::optional<double> workers) {
  if (logs.size() == 1 && is_table(logs[0].text)) return norms_of_table(logs[0], workers);
  StepsByNumber by_number;
  for (const LogText& log : logs) {
    std::istringstream lines(log.text);
    bool any = false;
    for (std::string line; std::getline(lines, line);) any = take_line(line, by_number) || any;
    if (!any) refuse(log.name, "no gradient norms in it");
  }
  std::vector<NormStep> steps;
  for (const auto& [number, norms] : by_number) {
    const bool has_local = norms.local_count > 0 || norms.summed;
    if (!has_local || !norms.aggregate) continue;  // a step whose other half was not logged
    steps.push_back(step_of(number, norms, workers));
    check(steps.back(), fmt::format("{}: step {}", logs[0].name, number));
  }
  if (steps.empty()) {
    refuse(logs[0].name, "no step has both the workers' norms and the aggregated one",
           "give the logs of the workers and of their chief together");
  }
  return steps;
}

}  // namespace plumber
