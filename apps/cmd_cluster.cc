// SPDX-License-Identifier: Apache-2.0
#include "cmd_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "option_values.h"

namespace plumber {
namespace {

constexpr std::size_t kMostCounts = 100000;

constexpr const char* kExamples = R"(Examples:
  plumber cluster noise norms.csv
  plumber cluster fit runs.csv --job job.json -o model.json
  plumber cluster plan model.json --workers 8..20 --batch 384..1024 --price 0.134 --objective knee
  plumber cluster next state.json

docs/cluster.md says what the files hold.)";

}  // namespace

double parse_count(const std::string& text, const std::string& where, double most) {
  const std::size_t dash = text.find('-', 1);
  if (dash != std::string::npos && text.find_first_not_of("0123456789-") == std::string::npos) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is not a number",
                "a range is written " + text.substr(0, dash) + ".." + text.substr(dash + 1));
  }
  const double number = parse_positive(text, where);
  if (number != std::floor(number)) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is not a whole number",
                "write it like 8");
  }
  if (number > most) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is too large",
                fmt::format("at most {:.0f}", most));
  }
  return number;
}

std::pair<double, double> parse_range(const std::string& text, const std::string& where) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    const double one = parse_count(text, where);
    return {one, one};
  }
  const std::pair<double, double> range{parse_count(text.substr(0, dots), where),
                                        parse_count(text.substr(dots + 2), where)};
  if (range.first > range.second) {
    throw Error(ErrorKind::kUsage, where, "the range '" + text + "' runs backwards",
                "the smaller end comes first: 8..20");
  }
  return range;
}

std::vector<double> parse_counts(const std::string& text, const std::string& where) {
  std::vector<double> counts;
  if (text.find("..") == std::string::npos) {
    for (const std::string& word : split_list(text)) counts.push_back(parse_count(word, where));
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  } else {
    const std::size_t colon = text.find(':');
    const auto [first, last] = parse_range(text.substr(0, colon), where);
    const double step = colon == std::string::npos ? 1 : parse_count(text.substr(colon + 1), where);
    for (double count = first; count <= last && counts.size() <= kMostCounts; count += step) {
      counts.push_back(count);
    }
  }
  if (counts.empty() || counts.size() > kMostCounts) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' names no or too many numbers",
                "write " + where + " 8..20, 8..20:4 or 8,12,16");
  }
  return counts;
}

void add_cluster(CLI::App& app, const Globals& globals, Run& run) {
  CLI::App& cluster =
      *app.add_subcommand("cluster", "Choose workers and batch of a training job by time and cost");
  cluster.require_subcommand(1);
  add_cluster_noise(cluster, globals, run);
  add_cluster_fit(cluster, globals, run);
  add_cluster_plan(cluster, globals, run);
  add_cluster_next(cluster, globals, run);
  for (CLI::App* command : cluster.get_subcommands({}))
    command->footer("plumber cluster --help has examples.");
  cluster.footer(kExamples);
}

}  // namespace plumber
