// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "cluster/model_file.h"
#include "cluster/plan.h"
#include "cluster_input.h"
#include "cmd_cluster.h"
#include "option_values.h"
#include "output.h"
#include "report/cluster_view.h"

namespace plumber {
namespace {

constexpr double kMostReplicates = 10000;
constexpr double kMostPasses = 1000;
constexpr double kMostWorkers = 100000;  // that are tried one by one

struct Options {
  std::string model_path, prices_path, trace_path, samples_per_element;
  std::string workers, batch, price, objective = "time", machines, fixed_default, replicates;
  std::string max_cost, max_hours, max_hourly, interruptions, restart;
  std::string servers, server_price, workers_per_node, accumulation;
  bool spot = false;
  OutputOptions output;
};

[[noreturn]] void refuse_usage(const std::string& where, const std::string& message,
                               const std::string& hint) {
  throw Error(ErrorKind::kUsage, where, message, hint);
}

std::optional<double> positive_option(const std::string& text, const std::string& where) {
  return text.empty() ? std::nullopt : std::optional(parse_positive(text, where));
}

std::vector<MachineType> chosen_machines(const std::vector<MachineType>& all,
                                         const std::string& names) {
  std::vector<MachineType> chosen;
  std::vector<std::string> known;
  for (const MachineType& machine : all) known.push_back(machine.name);
  std::vector<bool> taken(all.size(), false);
  for (const std::string& name : split_list(names)) {
    bool found = false;
    const bool is_type = std::ranges::count(all, name, &MachineType::name) > 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((is_type ? all[i].name : all[i].label()) != name) continue;
      found = true;
      if (!taken[i]) chosen.push_back(all[i]);
      taken[i] = true;
    }
    if (found) continue;
    throw Error(ErrorKind::kUsage, "--machines", "no machine type '" + name + "' in the prices",
                did_you_mean(name, known));
  }
  return chosen;
}

std::vector<MachineType> machines_of(const Options& options) {
  if (options.price.empty() == options.prices_path.empty()) {
    throw Error(ErrorKind::kUsage, "", "one of --price and --prices is needed",
                "--price 0.134 (USD an hour of one worker), or --prices FILE");
  }
  if (options.spot && !options.price.empty()) {
    throw Error(ErrorKind::kUsage, "--spot", "--price says no spot price",
                "--prices FILE with a column usd_per_hour_spot");
  }
  if (!options.price.empty()) return {priced_worker(parse_positive(options.price, "--price"))};
  const auto all = read_prices(read_table(options.prices_path));
  return options.machines.empty() ? all : chosen_machines(all, options.machines);
}

// Interruptions are as told, else as often as the runs counted them.
Spot spot_of(const Options& options, const Model& model) {
  Spot spot;
  spot.used = options.spot;
  for (const auto& [name, text] : {std::pair("--interruptions-per-hour", &options.interruptions),
                                   std::pair("--restart", &options.restart)}) {
    if (!spot.used && !text->empty()) refuse_usage(name, "it is of spot machines", "add --spot");
  }
  const bool never = options.interruptions == "0";
  const auto told = never ? std::optional(0.)
                          : positive_option(options.interruptions, "--interruptions-per-hour");
  spot.from_runs = spot.used && !told && model.interruptions.has_value();
  spot.interruptions_per_hour =
      spot.from_runs ? model.interruptions->per_machine_hour() : told.value_or(0);
  if (!options.restart.empty()) spot.restart_s = parse_time_s(options.restart, "--restart");
  if (told && !never && options.restart.empty()) {
    refuse_usage("--interruptions-per-hour", "what does an interruption cost?",
                 "--restart 3min: the time until training goes on");
  }
  return spot;
}

void add_servers(const Options& options, Surroundings& around) {
  if (options.servers.empty() != options.server_price.empty()) {
    refuse_usage("--parameter-servers", "their number and their price go together",
                 "--parameter-servers 2 --parameter-server-price 0.134");
  }
  if (options.servers.empty()) return;
  around.parameter_servers = parse_count(options.servers, "--parameter-servers");
  around.parameter_server_usd_per_hour =
      parse_positive(options.server_price, "--parameter-server-price");
}

Surroundings surroundings_of(const Options& options, const Model& model) {
  Surroundings around;
  around.machines = machines_of(options);
  around.spot = spot_of(options, model);
  add_servers(options, around);
  if (!options.accumulation.empty()) {
    around.most_accumulation = parse_count(options.accumulation, "--accumulation", kMostPasses);
  }
  if (!options.workers_per_node.empty()) {
    around.workers_per_node = parse_count(options.workers_per_node, "--workers-per-node");
  }
  if (!options.trace_path.empty()) {
    around.input = input_rates(
        options.trace_path, positive_option(options.samples_per_element, "--samples-per-element"),
        around.machines);
  }
  return around;
}

// A range of batches is walked in steps; a list is taken as it is.
std::vector<double> batches_of(const Options& options, const Model& model) {
  if (options.batch.empty()) return batch_grid(model, model.valid.global_batch);
  const bool stepless = options.batch.find(':') == std::string::npos;
  if (stepless && options.batch.find("..") != std::string::npos) {
    return batch_grid(model, parse_range(options.batch, "--batch"));
  }
  return parse_counts(options.batch, "--batch");
}

std::vector<double> workers_of(const Options& options, const Model& model) {
  if (!options.workers.empty()) return parse_counts(options.workers, "--workers");
  std::vector<double> workers;
  if (model.valid.workers.second - model.valid.workers.first > kMostWorkers) {
    throw Error(ErrorKind::kUsage, "--workers", "the runs' range is too wide to try each number",
                "give --workers 8..2048:8");
  }
  for (double k = model.valid.workers.first; k <= model.valid.workers.second; ++k) {
    workers.push_back(k);
  }
  return workers;
}

PlanRequest request_of(const Options& options, const Model& model) {
  PlanRequest request;
  request.workers = workers_of(options, model);
  request.batches = batches_of(options, model);
  request.constraints = {positive_option(options.max_cost, "--max-cost"),
                         positive_option(options.max_hours, "--max-hours"),
                         positive_option(options.max_hourly, "--max-hourly-cost")};
  const auto objective = objective_of(options.objective);
  if (!objective) {
    const std::string near = did_you_mean(options.objective, {"time", "cost", "knee", "cost-time"});
    refuse_usage("--objective", "unknown objective '" + options.objective + "'",
                 near.empty() ? "objectives: time, cost, knee, cost-time" : near);
  }
  request.objective = *objective;
  if (!options.fixed_default.empty()) {
    const auto words = split_list(options.fixed_default);
    if (words.size() != 2) {
      refuse_usage("--default", "not of the form K,B", "--default 16,512");
    }
    request.fixed_default = Configuration{parse_positive(words[0], "--default"),
                                          parse_positive(words[1], "--default"), 0};
  }
  if (options.replicates == "0") {
    request.replicates = 0;
  } else if (!options.replicates.empty()) {
    const double count = parse_count(options.replicates, "--replicates", kMostReplicates);
    request.replicates = static_cast<int>(count);
  }
  request.around = surroundings_of(options, model);
  return request;
}

ExitCode run_plan(const Options& options, const Globals& globals) {
  const Format format = format_of(options.output, kClusterFormats);
  protect_files({options.model_path, options.prices_path, options.trace_path},
                {options.output.path});
  const Model model = parse_cluster_model(read_file(options.model_path), options.model_path);
  const ClusterPlan plan = located_in(
      options.model_path, [&] { return make_cluster_plan(model, request_of(options, model)); });
  warn(globals, plan.warnings);
  write_report(cluster_plan_view(plan), format, options.output, globals);
  return plan.choice ? ExitCode::kDone : ExitCode::kNo;
}

void add_grid(CLI::App& command, Options& options) {
  command.add_option("MODEL", options.model_path, "What cluster fit wrote")
      ->type_name("")
      ->required();
  add_value(command, "--workers", options.workers,
            {"RANGE", "Workers to consider: 8..20, 8..20:4 or 8,12,16 (default: as in the runs)"});
  add_value(command, "--batch", options.batch,
            {"RANGE",
             "Global batches: 384..1024 (in steps of about 9 %), 256..1024:256 or a list "
             "(default: as in the runs)"});
  add_value(command, "--objective", options.objective,
            {"WORD", "What to choose by: time, cost, knee, cost-time"});
  add_value(command, "--max-cost", options.max_cost, {"USD", "At most so many dollars"});
  add_value(command, "--max-hours", options.max_hours, {"H", "At most so many hours"});
  add_value(command, "--max-hourly-cost", options.max_hourly,
            {"USD", "At most so many dollars an hour, all machines together"});
  add_value(command, "--default", options.fixed_default,
            {"K,B", "The configuration that you would take without a model, for comparison"});
  add_value(command, "--replicates", options.replicates,
            {"N", "Draws of the bootstrap that gives the ranges (200; 0 for none)"});
}

void add_prices(CLI::App& command, Options& options) {
  add_value(command, "--price", options.price, {"USD", "Dollars an hour of one worker"});
  add_value(command, "--prices", options.prices_path, {"FILE", "Machine types, CSV or JSON lines"});
  add_value(command, "--machines", options.machines,
            {"LIST", "Only these types of the price file"});
  command.add_flag("--spot", options.spot, "Pay spot prices");
  add_value(command, "--interruptions-per-hour", options.interruptions,
            {"N", "How often a spot machine is taken away (default: as the runs counted it)"});
  add_value(command, "--restart", options.restart,
            {"TIME", "What an interruption costs, such as 3min"});
  add_value(command, "--parameter-servers", options.servers,
            {"N", "Parameter servers, to be paid too"});
  add_value(command, "--parameter-server-price", options.server_price,
            {"USD", "Dollars an hour of a parameter server"});
  add_value(
      command, "--workers-per-node", options.workers_per_node,
      {"N", "Workers on one machine (default: its accelerators; with --price as in the runs)"});
  add_value(command, "--accumulation", options.accumulation,
            {"N",
             "Allow so many extra passes of gradient accumulation where a worker's batch does "
             "not fit its machine"});
  add_value(command, "--trace", options.trace_path,
            {"TRACE", "A trace of the job's input pipeline, which may limit the workers"});
  add_value(command, "--samples-per-element", options.samples_per_element,
            {"N", "Samples in an element of that pipeline (default: its batch)"});
}

void add_options(CLI::App& command, Options& options) {
  add_grid(command, options);
  add_prices(command, options);
}

}  // namespace

void add_cluster_plan(CLI::App& cluster, const Globals& globals, Run& run) {
  add_subcommand<Options>(
      cluster, globals, run,
      {"plan", "Choose workers, batch and machine type; exit 1 if no configuration is allowed",
       add_options, run_plan});
}

}  // namespace plumber
