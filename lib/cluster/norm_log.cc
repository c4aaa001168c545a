// SPDX-License-Identifier: Apache-2.0
#include "cluster/norm_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "base/error.h"
#include "cluster/noise.h"
#include "cluster/table_file.h"

namespace plumber {
namespace {

constexpr double kLargestNorm = 1e300;  // sums of them must not overflow

// What the lines of all logs say of one step.
struct StepNorms {
  double local_sum = 0;
  double local_count = 0;
  std::optional<double> summed;  // of all workers at once
  std::optional<double> aggregate;
  std::string where;  // of the line that was read last
};

using StepsByNumber = std::map<double, StepNorms>;

const std::vector<std::string> kColumns{"step",         "workers",      "mean_local_sqr_norm",
                                        "noise",        "global_batch", "aggregate_sqr_norm",
                                        "learning_rate"};

[[noreturn]] void refuse(const std::string& where, const std::string& message,
                         const std::string& hint) {
  throw Error(ErrorKind::kInput, where, message, hint);
}

[[noreturn]] void refuse_diverged(const std::string& where) {
  refuse(where, "squared norms beyond all measure",
         "training has diverged there: cut the log before it");
}

// A line of a log, with where it is.
struct LogLine {
  std::string text;
  std::string name;
  std::size_t number = 0;

  std::string where(std::size_t at) const { return fmt::format("{}:{}:{}", name, number, at + 1); }
};

// "WORD VALUE STEP_WORD STEP"
struct Phrase {
  const char* word;
  const char* step_word;
};

constexpr Phrase kLocal{"local_worker_norm_sqr", "globalstep"};
constexpr Phrase kAggregated{"aggregated_norm_sqr", "globalstep"};
constexpr Phrase kSummed{"adascale_sum", "glob_step"};
constexpr Phrase kAggregatedSum{"agg_ADASCALE", "glob_step"};

// The squared norm that the line tells by the phrase, and its step.
std::optional<std::pair<double, double>> value_and_step(const LogLine& line, const Phrase& phrase) {
  const std::size_t at = line.text.find(phrase.word);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream rest(line.text.substr(at + std::string_view(phrase.word).size()));
  std::string value, name, step;
  rest >> value >> name >> step;
  const auto number = number_of(value), step_number = number_of(step);
  if (name != phrase.step_word || !step_number) return std::nullopt;  // some other sentence
  if (!number || *number < 0) {
    refuse(line.where(at), fmt::format("the squared norm '{}' is no number from 0 on", value),
           "training has diverged there: cut the log before it");
  }
  if (*number > kLargestNorm) refuse_diverged(line.where(at));
  return std::pair(*number, *step_number);
}

// A line of a window file: "7,8.0".
std::optional<std::pair<double, double>> window_line(const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return std::nullopt;
  const std::string_view whole = text;
  const std::size_t end = whole.find_last_not_of(" \t\r") + 1;
  const auto step = number_of(whole.substr(0, comma));
  const auto norm = number_of(whole.substr(0, end).substr(std::min(comma + 1, end)));
  if (!step || !norm) return std::nullopt;
  return std::pair(*norm, *step);
}

bool take_line(const LogLine& line, StepsByNumber& steps) {
  bool taken = false;
  const auto step_at = [&](double number) -> StepNorms& {
    taken = true;
    steps[number].where = line.where(0);
    return steps[number];
  };
  if (const auto local = value_and_step(line, kLocal)) {
    StepNorms& step = step_at(local->second);
    step.local_sum += local->first;
    step.local_count += 1;
  }
  if (const auto whole = value_and_step(line, kAggregated)) {
    step_at(whole->second).aggregate = whole->first;
  }
  if (const auto sum = value_and_step(line, kSummed)) step_at(sum->second).summed = sum->first;
  if (const auto whole = value_and_step(line, kAggregatedSum)) {
    step_at(whole->second).aggregate = whole->first;
  }
  if (taken) return true;
  if (const auto whole = window_line(line.text)) step_at(whole->second).aggregate = whole->first;
  return taken;
}

NormStep step_of(double number, const StepNorms& norms, std::optional<double> workers) {
  NormStep step;
  step.step = number;
  step.workers = workers.value_or(norms.local_count);
  if (norms.summed) {
    if (!workers) {
      refuse(norms.where, "the log sums over workers without saying how many", "give --workers K");
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
  if (step.step < 0) {
    refuse(row.where("step"), "column 'step' is empty or negative", "steps count from 0");
  }
  const auto said = optional_positive_in(row, "workers");
  if (!said && !workers) refuse(row.where(), "no number of workers", "give --workers K");
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
    refuse(where, "a squared norm is missing or negative", "every row needs both norms, or noise");
  }
  const double noise = noise_of(step.mean_local_sqr_norm, step.aggregate_sqr_norm);
  if (step.aggregate_sqr_norm == 0) {
    refuse(where, "the aggregated gradient is zero: the noise divides by it",
           "leave the step out: it changed no weight");
  }
  if (!std::isfinite(noise) || step.mean_local_sqr_norm > kLargestNorm) refuse_diverged(where);
}

// One word that is no number, as columns are called.
bool is_name(std::string_view field) {
  const std::size_t first = field.find_first_not_of(" \t\r\"");
  if (first == std::string_view::npos) return false;
  field = field.substr(first, field.find_last_not_of(" \t\r\"") + 1 - first);
  return field.find_first_of(" \t") == std::string_view::npos &&
         field.find_first_of("0123456789.+-") != 0;
}

// A header has names between commas, and an object is a row by itself. Log lines are sentences, a
// window file has numbers alone.
bool starts_table(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == line.find('{')) return true;
  if (line.find(',') == std::string_view::npos) return false;
  while (true) {
    const std::size_t comma = std::min(line.find(','), line.size());
    if (!is_name(line.substr(0, comma))) return false;
    if (comma == line.size()) return true;
    line.remove_prefix(comma + 1);
  }
}

bool is_table(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const bool skipped = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (!skipped && line[0] != '#') return starts_table(line);
  }
  return false;
}

std::vector<NormStep> norms_of_table(const LogText& log, std::optional<double> workers) {
  const InputTable table = parse_table(log.text, log.name);
  require_column(table, "step");
  const bool with_noise = table.rows[0].cell("noise") != nullptr;
  for (const char* column : {"mean_local_sqr_norm", "aggregate_sqr_norm"}) {
    if (!with_noise) require_column(table, column);
  }
  refuse_misspelt(table, kColumns);
  std::vector<NormStep> steps;
  for (const TableRow& row : table.rows) {
    steps.push_back(step_of(row, workers));
    check(steps.back(), row.where("aggregate_sqr_norm"));
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const NormStep& a, const NormStep& b) { return a.step < b.step; });
  return steps;
}

StepsByNumber steps_of_logs(const std::vector<LogText>& logs) {
  StepsByNumber by_number;
  for (const LogText& log : logs) {
    const bool marked = log.text.starts_with("\xEF\xBB\xBF");
    std::istringstream lines(marked ? log.text.substr(3) : log.text);
    bool any = false;
    LogLine line{"", log.name, 0};
    while (std::getline(lines, line.text)) {
      ++line.number;
      any = take_line(line, by_number) || any;
    }
    if (!any) {
      refuse(log.name + ":1:1", "no gradient norms in it",
             "docs/cluster.md shows the tables and the log lines that have them");
    }
  }
  return by_number;
}

}  // namespace

std::vector<NormStep> read_norms(const std::vector<LogText>& logs, std::optional<double> workers) {
  if (logs.size() == 1 && is_table(logs[0].text)) return norms_of_table(logs[0], workers);
  std::vector<NormStep> steps;
  for (const auto& [number, norms] : steps_of_logs(logs)) {
    const bool has_local = norms.local_count > 0 || norms.summed;
    if (!has_local || !norms.aggregate) continue;  // a step whose other half was not logged
    steps.push_back(step_of(number, norms, workers));
    check(steps.back(), norms.where);
  }
  if (steps.empty()) {
    refuse(logs[0].name + ":1:1", "no step has both the workers' norms and the aggregated one",
           "give the logs of the workers and of their chief together");
  }
  return steps;
}

}  // namespace plumber
