// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "commands.h"
#include "ops/analysis.h"
#include "option_values.h"
#include "output.h"
#include "report/analysis_view.h"
#include "report/diff_view.h"
#include "trace/read.h"
#include "trace_input.h"

namespace plumber {
namespace {

const std::vector<std::string> kFormats{"text", "json", "csv"};

constexpr const char* kExamples = R"(Examples:
  plumber diff before.pb after.pb              two traces: what changed beyond noise
  plumber diff golden.json plan.json --rtol 0  two plans, number by number

Exit status 1 says that they differ.)";

struct Options {
  std::string before, after, tolerance;
  OutputOptions output;
};

bool is_file(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none);
}

/// The document, or the analysis of the trace.
NamedDocument document_of(const std::string& path) {
  TraceBytes file{path, is_file(path) ? read_file(path) : ""};
  if (is_document(file.bytes)) return {path, std::move(file.bytes)};
  const Trace trace = is_file(path) ? decode_trace({file}) : load({{path}, "", ""});
  const Pipeline pipeline = build_pipeline(trace);
  return {path, render_json(analysis_view(pipeline, analyze(pipeline, {})))};
}

/// A share, 0 included: numbers must be the same then.
std::optional<double> tolerance_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text.find_first_not_of("0.") == std::string::npos && text != ".") return 0.0;
  return parse_positive(text, "--rtol", "0.05");
}

ExitCode run_diff(const Options& options, const Globals& globals) {
  const Format format = format_of(options.output, kFormats);
  const std::optional<double> tolerance = tolerance_of(options.tolerance);
  protect_files({options.before, options.after}, {options.output.path});
  const Comparison comparison =
      compare_documents(document_of(options.before), document_of(options.after), tolerance);
  write_report(diff_view(comparison), format, options.output, globals);
  return comparison.differences.empty() ? ExitCode::kDone : ExitCode::kNo;
}

}  // namespace

void add_diff(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App& command =
      *app.add_subcommand("diff", "Say what changed between two traces, analyses or plans");
  command.add_option("A", options->before, "A trace, or the JSON of analyze or optimize")
      ->required()
      ->type_name("");
  command.add_option("B", options->after, "What to compare with it")->required()->type_name("");
  add_value(command, "--rtol", options->tolerance,
            {"R", "Relative tolerance of every number (default: what two runs differ by, 0.12)"});
  add_output(command, options->output, kFormats);
  command.footer(kExamples);
  command.callback([options, &globals, &run] {
    run = [options, &globals] { return run_diff(*options, globals); };
  });
}

}  // namespace plumber
