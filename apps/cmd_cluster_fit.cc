// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "cluster/fit.h"
#include "cmd_cluster.h"
#include "option_values.h"
#include "output.h"
#include "report/cluster_view.h"

namespace plumber {
namespace {

struct Options {
  std::string runs_path, job_path, curves_path;
  OutputOptions output;
  std::string model = "auto";
  bool batch_term = false, total_only = false;
};

IterationOptions iteration_options(const Options& options) {
  IterationOptions how{law_of(options.model), options.batch_term, options.total_only, {}};
  if (!how.law && options.model != "auto") {
    const std::string near =
        did_you_mean(options.model, {"auto", "scavenger", "overlap", "ernest", "pollux"});
    throw Error(ErrorKind::kUsage, "--model", "unknown model '" + options.model + "'",
                near.empty() ? "models: auto, scavenger, overlap, ernest, pollux" : near);
  }
  return how;
}

// A model is JSON, whatever its file's name, unless another format is asked for.
Format model_format(const OutputOptions& output) {
  const bool to_file = !output.path.empty() && output.path != "-";
  if (output.format.empty() && to_file && !output.path.ends_with(".csv")) return Format::kJson;
  return format_of(output, kClusterFormats);
}

ExitCode run_fit(const Options& options, const Globals& globals) {
  const Format format = model_format(options.output);
  protect_files({options.runs_path, options.job_path}, {options.output.path, options.curves_path});
  const IterationOptions how = iteration_options(options);
  Job job;
  if (!options.job_path.empty()) job = parse_job(read_file(options.job_path), options.job_path);
  const auto runs = read_runs(read_table(options.runs_path));
  const Model model = fit_model(runs, job, how);
  warn(globals, model.warnings);
  const Report report = fit_view(model);
  if (!options.curves_path.empty()) {
    write_document(options.curves_path, render(curves_view(curves_of(model)), Format::kCsv,
                                               style_of(globals, options.curves_path)));
  }
  write_report(report, format, options.output, globals);
  if (!options.output.path.empty() && options.output.path != "-" &&
      !globals.quiet) {  // people see what the file says
    write_document("", render(report, Format::kText, style_of(globals, "")));
  }
  return ExitCode::kDone;
}

void add_options(CLI::App& command, Options& options) {
  command
      .add_option("RUNS", options.runs_path,
                  "Runs and profiles, CSV or JSON lines: workers, global_batch, iteration_s and, "
                  "where known, compute_s, sync_s, noise, epochs, nodes, machine")
      ->type_name("")
      ->required();
  add_value(command, "--job", options.job_path, {"FILE", "The training job, a JSON file"});
  add_value(command, "--curves", options.curves_path,
            {"FILE", "Also write the fitted laws over the range of the runs, as CSV"});
  add_value(command, "--model", options.model,
            {"LAW",
             "Law of the iteration's time: auto (the least leave-one-out error), scavenger, "
             "overlap, ernest, pollux"});
  command.add_flag("--batch-term", options.batch_term,
                   "scavenger: synchronisation also grows with the batch");
  command.add_flag("--total", options.total_only,
                   "scavenger: one line of the whole iteration, even where its parts are known");
}

}  // namespace

void add_cluster_fit(CLI::App& cluster, const Globals& globals, Run& run) {
  add_subcommand<Options>(
      cluster, globals, run,
      {"fit", "Fit noise, epochs and iteration time to runs; the JSON is the model", add_options,
       run_fit});
}

}  // namespace plumber
