// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "output.h"
#include "report/show_view.h"
#include "trace_input.h"

namespace plumber {
namespace {

const std::vector<std::string> kFormats{"text", "json", "csv", "dot"};

constexpr const char* kExamples = R"(Examples:
  plumber show trace.pb                  program, functions, counters, machine
  plumber show trace.pb --format dot | dot -Tsvg > program.svg)";

struct Options {
  TraceInput trace;
  OutputOptions output;
};

ExitCode run_show(const Options& options, const Globals& globals) {
  const Format format = format_of(options.output, kFormats);
  protect_files(files_of(options.trace), {options.output.path});
  const Trace trace = load(options.trace);
  const Pipeline pipeline = build_pipeline(trace);
  const Report report = show_view(trace, pipeline);
  warn(globals, pipeline.warnings);
  write_report(report, format, options.output, globals);
  return ExitCode::kDone;
}

}  // namespace

void add_show(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("show", "Show what a trace holds, decoded");
  add_trace(command, options->trace);
  add_graph_and_model(command, options->trace);
  add_output(command, options->output, kFormats);
  command.footer(kExamples);
  command.callback([options, &globals, &run] {
    run = [options, &globals] { return run_show(*options, globals); };
  });
}

}  // namespace plumber
