// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "ops/analysis.h"
#include "option_values.h"
#include "output.h"
#include "report/analysis_view.h"
#include "trace_input.h"

namespace plumber {
namespace {

const std::vector<std::string> kFormats{"text", "json", "csv", "dot"};

constexpr const char* kExamples = R"(Examples:
  plumber analyze                          trace.pb in this directory
  plumber analyze dumps/                   periodic dumps: rates with their spread
  plumber analyze trace.pb -o report.json  for programs; .csv holds the table of nodes
  plumber analyze trace.pb --format dot | dot -Tsvg > pipeline.svg)";

struct Options {
  TraceInput trace;
  OutputOptions output;
  std::string think_time, processes;
};

ExitCode run_analyze(const Options& options, const Globals& globals) {
  const Format format = format_of(options.output, kFormats);
  protect_files(files_of(options.trace), {options.output.path});
  AnalysisOptions how;
  if (!options.think_time.empty()) {
    how.think_time_s = parse_time_s(options.think_time, "--think-time");
  }
  how.processes = processes_of(options.processes);
  const Pipeline pipeline = build_pipeline(load(options.trace));
  const Analysis analysis = analyze(pipeline, how);
  const Report report = analysis_view(pipeline, analysis);
  warn(globals, analysis.warnings);
  write_report(report, format, options.output, globals);
  return ExitCode::kDone;
}

}  // namespace

void add_analyze(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("analyze", "Say what limits the pipeline, with advice");
  add_trace(command, options->trace);
  add_graph_and_model(command, options->trace);
  add_output(command, options->output, kFormats);
  add_value(command, "--think-time", options->think_time,
            {"TIME",
             "The consumer's time between two elements, such as 5ms; 0: as fast as it can "
             "(default: as traced)"});
  add_processes(command, options->processes,
                "Processes of this job on the host: their memory together is shown and checked");
  command.footer(kExamples);
  command.callback([options, &globals, &run] {
    run = [options, &globals] { return run_analyze(*options, globals); };
  });
}

}  // namespace plumber
