// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cluster/model_file.h"
#include "cmd_cluster.h"
#include "option_values.h"
#include "output.h"
#include "report/cluster_view.h"

namespace plumber {
namespace {

struct Options {
  std::string state_path, record, store_path;
  OutputOptions output;
};

// The models of the directory, by name.
std::vector<StoredModel> read_store(const std::string& path) {
  std::vector<StoredModel> store;
  if (path.empty()) return store;
  std::error_code problem;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, problem)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  if (problem) throw Error(ErrorKind::kIo, path, problem.message(), "give a directory of models");
  if (files.empty()) {
    throw Error(ErrorKind::kInput, path, "no model (*.json) in the store",
                "plumber cluster fit RUNS -o STORE/NAME.json adds one");
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    store.push_back({file.stem().string(), parse_cluster_model(read_file(file), file), false});
  }
  return store;
}

ExitCode run_next(const Options& options, const Globals& globals) {
  const Format format = format_of(options.output, kClusterFormats);
  protect_files({options.state_path}, {options.output.path});
  std::string text = read_file(options.state_path);
  if (!options.record.empty()) text = with_run(text, options.state_path, options.record);
  const SearchState state = parse_search_state(text, options.state_path);
  const std::vector<StoredModel> store = read_store(options.store_path);
  const SearchOutcome result =
      located_in(options.state_path, [&] { return next_step(state, store); });
  // From here on the answer is fixed, and the run is worth keeping.
  if (!options.record.empty()) write_output(options.state_path, text);
  warn(globals, result.warnings);
  write_report(search_view(result), format, options.output, globals);
  return ExitCode::kDone;
}

void add_options(CLI::App& command, Options& options) {
  command.add_option("STATE", options.state_path, "The state of the search, a JSON file")
      ->type_name("")
      ->required();
  add_value(command, "--record", options.record,
            {"RUN",
             "First add a run to the state: workers=8,global_batch=384,iteration_s=1.5,"
             "noise=0.79,noise_stable=true,iterations=2000"});
  add_value(command, "--store", options.store_path,
            {"DIR", "Directory of models of other jobs, for policy none and for epochs"});
}

}  // namespace

void add_cluster_next(CLI::App& cluster, const Globals& globals, Run& run) {
  add_subcommand<Options>(cluster, globals, run,
                          {"next", "The next configuration to profile, and when to stop profiling",
                           add_options, run_next});
}

}  // namespace plumber
