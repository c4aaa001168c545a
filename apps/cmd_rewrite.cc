// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "commands.h"
#include "optimize/plan_check.h"
#include "option_values.h"
#include "output.h"
#include "pipeline/plan_file.h"
#include "trace_input.h"

namespace plumber {
namespace {

constexpr const char* kExamples = R"(Examples:
  plumber optimize trace.pb --cores 8 --mem 16G -o plan.json
  plumber rewrite trace.pb --plan plan.json -o tuned.pb
  plumber rewrite trace.pb --source-only --parallelism 8 -o source.pb

The plan may be edited in between: entries of "edits" can be removed or their values changed.
tuned.pb is a GraphDef: in TensorFlow, ds = plumber_tf.load("tuned.pb").)";

struct Options {
  TraceInput trace;
  std::string plan_path;
  std::string output_path;
  bool source_only = false;
  std::string parallelism, source;
};

constexpr double kMostReaders = 10'000;

int readers_of(const Options& options) {
  if (options.parallelism.empty()) return 0;
  const double readers = parse_positive(options.parallelism, "--parallelism");
  if (readers == std::floor(readers) && readers <= kMostReaders) return static_cast<int>(readers);
  throw Error(ErrorKind::kUsage, "--parallelism",
              "'" + options.parallelism + "' is not a whole number up to 10000",
              "write --parallelism 8");
}

ExitCode write_source(const Options& options) {
  const int readers = readers_of(options);
  protect_files(files_of(options.trace), {options.output_path});
  const Trace trace = load(options.trace);
  write_document(options.output_path,
                 source_document(trace, {readers, options.source}, options.output_path));
  return ExitCode::kDone;
}

void check_options(const Options& options) {
  if (options.source_only == options.plan_path.empty() &&
      (options.source_only || (options.parallelism.empty() && options.source.empty())))
    return;
  const bool neither = !options.source_only && options.plan_path.empty();
  throw Error(ErrorKind::kUsage, neither ? "--plan" : "--source-only",
              neither ? "nothing to do: no plan" : "a plan and the source alone exclude each other",
              "give --plan FILE, or --source-only with --parallelism N");
}

ExitCode run_rewrite(const Options& options) {
  check_options(options);
  if (options.source_only) return write_source(options);
  std::vector<std::string> inputs = files_of(options.trace);
  inputs.push_back(options.plan_path);
  protect_files(inputs, {options.output_path});
  const Plan plan = read_plan(options.plan_path, read_file(options.plan_path));
  const Trace trace = load(options.trace);
  const Pipeline pipeline = build_pipeline(trace);
  check_plan(pipeline, analyze(pipeline, {}), plan, options.plan_path);
  write_document(options.output_path,
                 program_document(trace, plan, options.output_path, options.plan_path));
  return ExitCode::kDone;
}

}  // namespace

void add_rewrite(CLI::App& app, const Globals&, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("rewrite", "Apply a plan to the traced program");
  add_trace(command, options->trace);
  add_graph_and_model(command, options->trace);
  command.add_option("--plan", options->plan_path, "The plan, as optimize wrote it")
      ->type_name("FILE");
  command.add_flag("--source-only", options->source_only,
                   "Instead of a plan: keep only what reads the files, to measure the disk");
  add_value(command, "--parallelism", options->parallelism,
            {"N", "With --source-only: read so many files at once"});
  add_value(command, "--source", options->source,
            {"NODE", "With --source-only: the source to keep, where there are several"});
  command
      .add_option("-o,--output", options->output_path,
                  "Write the changed program to FILE: a GraphDef, text if it ends in .pbtxt")
      ->type_name("FILE")
      ->required();
  command.footer(kExamples);
  command.callback([options, &run] { run = [options] { return run_rewrite(*options); }; });
}

}  // namespace plumber
