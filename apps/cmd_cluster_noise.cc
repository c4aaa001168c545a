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

const std::vector<std::string> kFormats{"text", "json", "csv"};

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
  const Format format = format_of(options.output, kFormats);
  const NoiseOptions how = noise_options(options);
  std::optional<double> workers;
  if (!options.workers.empty()) workers = parse_positive(options.workers, "--workers");
  std::vector<LogText> logs;
  for (const std::string& path : options.paths) logs.push_back({path, read_file(path)});
  const NoiseResult result =
      located_in(options.paths[0], [&] { return noise_series(read_norms(logs, workers), how); });
  warn(globals, result.warnings);
  write_document(options.output.path,
                 render(noise_view(result), format, style_of(globals, options.output.path)));
  return ExitCode::kDone;
}

void add_options(CLI::App& command, Options& options) {
  command
      .add_option("NORMS", options.paths,
                  "Logs of squared gradient norms of one run: a CSV or JSON lines file, or "
                  "training logs")
      ->type_name("")
      ->required();
  command.add_option("--workers", options.workers, "Workers, where the log does not say")
      ->type_name("K");
  command.add_option("--alpha", options.alpha, "Weight of the newest step in the mean (0.05)")
      ->type_name("A");
  command.add_option("--window", options.window, "Logged steps that the mean reaches back (25)")
      ->type_name("N");
  command.add_option("--span", options.span, "Steps of each of the two spans compared (500)")
      ->type_name("STEPS");
  command
      .add_option("--tolerance", options.tolerance,
                  "Change between the spans that still counts as settled (0.05)")
      ->type_name("SHARE");
}

}  // namespace

void add_cluster_noise(CLI::App& cluster, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App& command =
      *cluster.add_subcommand("noise", "Gradient noise over a run, and when it has settled");
  add_options(command, *options);
  add_output(command, options->output, kFormats);
  command.callback([options, &globals, &run] {
    run = [options, &globals] { return run_noise(*options, globals); };
  });
}

}  // namespace plumber
