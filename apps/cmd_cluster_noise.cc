// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "base/file.h"
#include "cluster/noise.h"
#include "cmd_cluster.h"
#include "option_values.h"
#include "output.h"
#include "report/cluster_view.h"

namespace plumber {
namespace {

constexpr double kLongestWindow = 10000;

struct Options {
  std::vector<std::string> paths;
  OutputOptions output;
  std::string workers, alpha, window, span, tolerance;
};

NoiseOptions noise_options(const Options& options) {
  NoiseOptions how;
  if (!options.alpha.empty()) how.alpha = parse_positive(options.alpha, "--alpha");
  if (how.alpha > 1) {
    throw Error(ErrorKind::kUsage, "--alpha", "more than 1 smooths nothing", "0.05 is usual");
  }
  if (!options.window.empty()) {
    how.window = static_cast<std::size_t>(parse_count(options.window, "--window", kLongestWindow));
  }
  if (!options.span.empty()) how.span_steps = parse_positive(options.span, "--span");
  if (!options.tolerance.empty()) how.tolerance = parse_positive(options.tolerance, "--tolerance");
  return how;
}

ExitCode run_noise(const Options& options, const Globals& globals) {
  const Format format = format_of(options.output, kClusterFormats);
  protect_files(options.paths, {options.output.path});
  const NoiseOptions how = noise_options(options);
  std::optional<double> workers;
  if (!options.workers.empty()) workers = parse_positive(options.workers, "--workers");
  std::vector<LogText> logs;
  for (const std::string& path : options.paths) logs.push_back({path, read_file(path)});
  const NoiseResult result =
      located_in(options.paths[0], [&] { return noise_series(read_norms(logs, workers), how); });
  warn(globals, result.warnings);
  write_report(noise_view(result), format, options.output, globals);
  return ExitCode::kDone;
}

void add_options(CLI::App& command, Options& options) {
  command
      .add_option("NORMS", options.paths,
                  "Logs of squared gradient norms of one run: a CSV or JSON lines file, or "
                  "training logs")
      ->type_name("")
      ->required();
  add_value(command, "--workers", options.workers, {"K", "Workers, where the log does not say"});
  add_value(command, "--alpha", options.alpha,
            {"A", "Weight of the newest step in the mean (0.05)"});
  add_value(command, "--window", options.window,
            {"N", "Logged steps that the mean reaches back (25)"});
  add_value(command, "--span", options.span,
            {"STEPS", "Steps of each of the two spans compared (500)"});
  add_value(command, "--tolerance", options.tolerance,
            {"SHARE", "Change between the spans that still counts as settled (0.05)"});
}

}  // namespace

void add_cluster_noise(CLI::App& cluster, const Globals& globals, Run& run) {
  add_subcommand<Options>(
      cluster, globals, run,
      {"noise", "Gradient noise over a run, and when it has settled", add_options, run_noise});
}

}  // namespace plumber
