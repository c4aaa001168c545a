// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "commands.h"
#include "curve_option.h"
#include "disk_option.h"
#include "optimize/host_share.h"
#include "optimize/optimize.h"
#include "option_values.h"
#include "output.h"
#include "pipeline/fingerprint.h"
#include "report/curve_view.h"
#include "report/plan_view.h"
#include "trace_input.h"

namespace plumber {
namespace {

const std::vector<std::string> kFormats{"text", "json"};
const std::vector<std::string> kCurveFormats{"text", "json", "csv"};

constexpr int kMostCores = 100'000;

constexpr const char* kExamples = R"(Examples:
  plumber optimize trace.pb --cores 8 --mem 16G
  plumber optimize trace.pb --cores 8 --mem 16G -o plan.json --rewrite tuned.pb
  plumber optimize trace.pb --cores 8 --target-rate 500
  plumber optimize trace.pb --cores 96 --step-time 20ms --prices prices.json
  plumber optimize trace.pb --disk fio.json --curve cores=1..96
  plumber optimize trace.pb --cores 8 --model paper --lp program.lp

tuned.pb is a GraphDef: in TensorFlow, ds = plumber_tf.load("tuned.pb").)";

struct Options {
  TraceInput trace;
  OutputOptions output;
  std::vector<std::string> disks;
  std::string cores, memory, processes, disk_cache, target_rate, step_time, prices_path, curve,
      epochs, think_time, allow, without;
  std::vector<std::string> models;
  std::string lp_path, rewrite_path;
  bool no_cache = false, no_moves = false, strict_order = false, keep_autotune = false;
};

// --model names the optimiser's model, or beside --graph the ModelProto.
ModelKind take_model(const Options& options, TraceInput& trace) {
  ModelKind kind = ModelKind::kDefault;
  for (const std::string& model : options.models) {
    if (model == "paper") {
      kind = ModelKind::kPaper;
    } else if (model != "default" && !trace.graph.empty() && trace.model.empty()) {
      trace.model = model;
    } else if (model != "default") {
      const std::string hint = did_you_mean(model, {"default", "paper"});
      throw Error(
          ErrorKind::kUsage, "--model", "'" + model + "' is neither 'default' nor 'paper'",
          hint.empty() ? "a ModelProto needs its GraphDef: --graph FILE --model FILE" : hint);
    }
  }
  return kind;
}

std::set<Permission> permissions_of(const std::string& list) {
  const std::vector<std::string> known = permission_words();
  std::set<Permission> permissions;
  for (const std::string& word : split_list(list)) {
    const auto permission = permission_of(word);
    if (!permission) {
      const std::string hint = did_you_mean(word, known);
      throw Error(ErrorKind::kUsage, "--allow", "unknown permission '" + word + "'",
                  hint.empty() ? "permissions: " + joined(known) : hint);
    }
    permissions.insert(*permission);
  }
  return permissions;
}

std::vector<std::string> optional_words() {
  std::vector<std::string> words;
  for (const EditKind kind : optional_edits()) words.push_back(edit_word(kind));
  return words;
}

std::set<EditKind> edits_of(const std::string& list) {
  const std::vector<std::string> known = optional_words();
  std::set<EditKind> edits;
  for (const std::string& word : split_list(list)) {
    const auto kind = edit_kind(word);
    if (std::ranges::find(known, word) == known.end()) {
      const std::string hint = did_you_mean(word, known);
      throw Error(ErrorKind::kUsage, "--without",
                  (kind ? "a plan cannot do without '" : "unknown edit '") + word + "'",
                  hint.empty() ? "edits that can be left out: " + joined(known) : hint);
    }
    edits.insert(*kind);
  }
  return edits;
}

// A training step takes one root element.
double rate_of_steps(const Options& options) {
  if (!options.target_rate.empty()) {
    throw Error(ErrorKind::kUsage, "--step-time", "--target-rate says the same in another way",
                "give one of them");
  }
  const double step_s = parse_time_s(options.step_time, "--step-time");
  if (step_s > 0) return refuse_rate_beyond(1 / step_s, options.step_time, "--step-time");
  throw Error(ErrorKind::kUsage, "--step-time", "'" + options.step_time + "' is not above 0",
              "write --step-time 20ms");
}

void check_disk_cache(const Options& options) {
  if (processes_of(options.processes) > 1)
    throw Error(ErrorKind::kUsage, "--disk-cache",
                "the processes of a host would all write the same file",
                "plan for one process with its share of the host, and a folder for each");
  const bool paper = std::ranges::find(options.models, "paper") != options.models.end();
  if (!options.no_cache && !paper) return;
  throw Error(
      ErrorKind::kUsage, "--disk-cache",
      options.no_cache ? "--no-cache forbids what it permits" : "the paper's model plans no caches",
      "give one of them");
}

// All that can be said without the trace, so that a wrong word is refused before a long read.
OptimizeOptions options_of(const Options& options) {
  OptimizeOptions how;
  if (!options.cores.empty()) how.limits.cores = parse_positive(options.cores, "--cores");
  if (how.limits.cores > kMostCores) {
    throw Error(ErrorKind::kUsage, "--cores", "no machine has so many cores",
                fmt::format("give up to {}", kMostCores));
  }
  if (!options.memory.empty()) {
    how.limits.memory_bytes = parse_size(options.memory, "--mem", "--mem ");
  }
  how.limits.disks = disks_of(options.disks);
  if (!options.disk_cache.empty()) {
    check_disk_cache(options);
    how.limits.disk_cache = disk_cache_of(options.disk_cache, how.limits.disks);
  }
  how.limits.processes = processes_of(options.processes);
  if (!options.epochs.empty()) how.epochs = parse_positive(options.epochs, "--epochs");
  if (!options.target_rate.empty()) {
    how.target_rate_per_s = parse_rate(options.target_rate, "--target-rate");
  }
  if (!options.step_time.empty()) how.target_rate_per_s = rate_of_steps(options);
  if (!options.prices_path.empty()) {
    if (!how.target_rate_per_s) {
      throw Error(ErrorKind::kUsage, "--prices", "prices are for a target",
                  "give --target-rate or --step-time too");
    }
    how.prices = read_resource_prices(read_file(options.prices_path), options.prices_path);
  }
  how.allow_cache = !options.no_cache;
  how.allow_moves = !options.no_moves;
  how.strict_order = options.strict_order;
  how.keep_autotune = options.keep_autotune;
  how.permissions = permissions_of(options.allow);
  if (how.strict_order && how.permissions.contains(Permission::kFrozenOrder)) {
    throw Error(ErrorKind::kUsage, "--strict-order", "it forbids what --allow frozen-order permits",
                "give one of them");
  }
  how.left_out = edits_of(options.without);
  return how;
}

AnalysisOptions analysis_options(const Options& options) {
  AnalysisOptions how;
  if (!options.think_time.empty())
    how.think_time_s = parse_time_s(options.think_time, "--think-time");
  return how;
}

// Limits that were not given are the traced machine's; each process gets its share of the host's.
void complete_limits(const Options& options, const TraceMachine& machine, double held_bytes,
                     Limits& limits) {
  if (options.cores.empty()) {
    if (machine.cores <= 0) {
      throw Error(ErrorKind::kUsage, "--cores", "the trace does not say how many cores there are",
                  "give --cores N");
    }
    limits.cores = machine.cores;
    limits.cores_from_trace = true;
  }
  if (options.memory.empty()) {
    if (machine.memory_total_bytes <= 0) {
      throw Error(ErrorKind::kUsage, "--mem", "the trace does not say how much memory there is",
                  "give --mem SIZE");
    }
    limits.memory_bytes =
        machine.memory_free_bytes > 0 ? machine.memory_free_bytes : machine.memory_total_bytes;
    // What was free beside the program: it ran, so it fits.
    if (limits.processes == 1) limits.memory_bytes = std::max(limits.memory_bytes, held_bytes);
    limits.memory_from_trace = true;
  }
  limits = share_of_host(limits, limits.processes);
}

// All files or none: a plan beside a program that could not be written would only mislead.
void write_results(const Options& options, const Trace& trace, const OptimizeResult& result,
                   const std::string& document) {
  std::vector<Document> documents;
  if (!options.rewrite_path.empty()) {
    documents.push_back(
        {options.rewrite_path, program_document(trace, result.plan, options.rewrite_path)});
  }
  if (!options.lp_path.empty()) documents.push_back({options.lp_path, result.lp.program});
  if (!options.output.path.empty()) documents.push_back({options.output.path, document});
  write_documents(documents);
}

void protect_inputs(const Options& options) {
  std::vector<std::string> inputs = files_of(options.trace);
  if (!options.prices_path.empty()) inputs.push_back(options.prices_path);
  for (const std::string& file : disk_files_of(options.disks)) inputs.push_back(file);
  protect_files(inputs, {options.output.path, options.rewrite_path, options.lp_path});
}

void check_curve_options(const Options& options, ModelKind model) {
  const bool plans = !options.rewrite_path.empty() || !options.lp_path.empty();
  const bool target = !options.target_rate.empty() || !options.step_time.empty();
  if (plans || target || model == ModelKind::kPaper) {
    throw Error(ErrorKind::kUsage, "--curve",
                "a curve is many plans: it has no program, target or other model",
                "leave out --rewrite, --lp, --target-rate, --step-time and --model");
  }
}

ExitCode run_curve(const Options& options, const Globals& globals, const OptimizeOptions& how,
                   const Sweep& sweep) {
  const Format format = format_of(options.output, kCurveFormats);
  const AnalysisOptions analysis_how = analysis_options(options);
  protect_inputs(options);
  const Pipeline pipeline = build_pipeline(load(options.trace));
  const Analysis analysis = analyze(pipeline, analysis_how);
  OptimizeOptions with = how;
  complete_limits(options, pipeline.machine, analysis.memory.held_bytes, with.limits);
  warn(globals, analysis.warnings);
  write_report(curve_view(pipeline, rate_curve(pipeline, analysis, with, sweep)), format,
               options.output, globals);
  return ExitCode::kDone;
}

ExitCode run_optimize(Options options, const Globals& globals) {
  OptimizeOptions how = options_of(options);
  how.model = take_model(options, options.trace);
  if (!options.curve.empty()) {
    check_curve_options(options, how.model);
    return run_curve(options, globals, how, sweep_of(options.curve));
  }
  const Format format = format_of(options.output, kFormats);
  const AnalysisOptions analysis_how = analysis_options(options);
  protect_inputs(options);
  const Trace trace = load(options.trace);
  Pipeline pipeline = build_pipeline(trace);
  if (how.limits.disk_cache) pipeline.program_hash = program_hash(*trace.graph);
  const Analysis analysis = analyze(pipeline, analysis_how);
  complete_limits(options, pipeline.machine, analysis.memory.held_bytes, how.limits);
  const OptimizeResult result = optimize(pipeline, analysis, how);
  const Report report = plan_view(pipeline, result);

  // From here on the answer is fixed; files are written only when it is yes.
  warn(globals, result.warnings);
  const bool possible = result.status != PlanStatus::kInfeasible;
  const std::string document = render(report, format, style_of(globals, options.output.path));
  if (possible) write_results(options, trace, result, document);
  if (options.output.path.empty()) {
    write_document("", document);
  } else if (!globals.quiet) {  // the plan is in its file; people see what it says
    write_document("", render(report, Format::kText, style_of(globals, "")));
  } else if (!possible) {  // no file was written: why not, in a sentence
    Report why;
    why.sections = {report.sections.front()};
    write_document("", render(why, Format::kText, style_of(globals, "")));
  }
  return possible ? ExitCode::kDone : ExitCode::kNo;
}

void add_limits(CLI::App& command, Options& options) {
  add_value(command, "--cores", options.cores,
            {"N", "Cores to plan for (default: the traced machine's)"});
  add_value(command, "--mem", options.memory,
            {"SIZE",
             "Memory for buffers and caches: 16G is 2^34 bytes, 16GB 16*10^9 (default: what was "
             "free on the traced machine)"});
  add_processes(command, options.processes,
                "Processes of this job on the host, which share --cores, --mem and --disk equally");
  add_disks(command, options.disks);
  add_value(
      command, "--disk-cache", options.disk_cache,
      {"DIR:SIZE",
       "Caches may be files in DIR too, of SIZE in all: 200G is 200*2^30 bytes; --disk DIR=RATE "
       "says how fast that disk is (default: 200MB/s)"});
  add_value(
      command, "--target-rate", options.target_rate,
      {"RATE",
       "Reach this many root elements a second with the fewest cores, memory and disk; exit 1 "
       "if it cannot be reached"});
  add_value(command, "--step-time", options.step_time,
            {"TIME", "The same by the time of a training step, such as 20ms: a rate of 1 / TIME"});
  add_value(command, "--prices", options.prices_path,
            {"FILE", "With a target: the cheapest cores, memory and disk by the prices in FILE"});
  add_value(command, "--curve", options.curve,
            {"WHAT=RANGE",
             "Print the rate against cores=1..96 or memory=1G..64G with its knee (text, json, csv) "
             "instead of a plan"});
  add_value(command, "--epochs", options.epochs,
            {"N", "Epochs that the job runs: a cache must pay within them (default: many)"});
  add_value(command, "--think-time", options.think_time,
            {"TIME", "The consumer's time between two elements, such as 5ms (default: as traced)"});
}

void add_choices(CLI::App& command, Options& options) {
  command.add_flag("--no-cache", options.no_cache, "Plan without new caches");
  command.add_flag("--keep-autotune", options.keep_autotune,
                   "Leave AUTOTUNE on, and what it tunes to it; the plan sets its least");
  command.add_flag("--no-moves", options.no_moves,
                   "Leave the nodes where they are: no algebraic moves");
  command.add_flag("--strict-order", options.strict_order,
                   "Refuse caches that narrow the order of elements");
  add_value(command, "--allow", options.allow,
            {"LIST",
             "Comma-separated permissions: frozen-order, pyfunc-cache, unfreeze, reshuffle, "
             "stateful-parallel, nondeterministic, intra-op, reorder-files"});
  add_value(
      command, "--without", options.without,
      {"LIST", "Comma-separated kinds of edits, as in the plan file, to leave out of the plan: " +
                   joined(optional_words())});
  command
      .add_option(
          "--model", options.models,
          "Model of the optimiser: default, or paper (the published linear program); beside "
          "--graph, the ModelProto file")
      ->type_name("MODEL")
      ->allow_extra_args(false);
  add_value(command, "--lp", options.lp_path,
            {"FILE", "Write the linear program to FILE (CPLEX LP)"});
  add_value(command, "--rewrite", options.rewrite_path,
            {"FILE", "Write the changed program to FILE: a GraphDef, text if it ends in .pbtxt"});
}

}  // namespace

void add_optimize(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App& command =
      *app.add_subcommand("optimize", "Find the best use of cores, memory and disk, with reasons");
  add_trace(command, options->trace);
  add_graph(command, options->trace);
  add_limits(command, *options);
  add_choices(command, *options);
  add_output(command, options->output, kCurveFormats);
  command.get_option("--output")
      ->description(
          "Write the plan to FILE, and a summary to standard output (none with -q); the file's "
          "ending chooses the format");
  command.footer(kExamples);
  command.callback([options, &globals, &run] {
    run = [options, &globals] { return run_optimize(*options, globals); };
  });
}

}  // namespace plumber
