// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cluster/model_file.h"
#include "cmd_cluster.h"
#include "output.h"
#include "report/cluster_view.h"

namespace plumber {
namespace {

const std::vector<std::string> kFormats{"text", "json", "csv"};

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
  const Format format = format_of(options.output, kFormats);
  std::string text = read_file(options.state_path);
  if (!options.record.empty()) text = with_run(text, options.state_path, options.record);
  const SearchState state = parse_search_state(text, options.state_path);
  const std::vector<StoredModel> store = read_store(options.store_path);
  const SearchOutcome result =
      located_in(options.state_path, [&] { return next_step(state, store); });
  // From here on the answer is fixed, and the run is worth keeping.
  if (!options.record.empty()) write_output(options.state_path, text);
  warn(globals, result.warnings);
  write_document(options.output.path,
                 render(search_view(result), format, style_of(globals, options.output.path)));
  return ExitCode::kDone;
}

}  // namespace

void add_cluster_next(CLI::App& cluster, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *cluster.add_subcommand(
      "next", "The next configuration to profile, and when to stop profiling");
  command.add_option("STATE", options->state_path, "The state of the search, a JSON file")
      ->type_name("")
      ->required();
  command
      .add_option("--record", options->record,
                  "First add a run to the state: workers=8,global_batch=384,iteration_s=1.5,"
                  "noise=0.79,noise_stable=true,iterations=2000")
      ->type_name("RUN");
  command
      .add_option("--store", options->store_path,
                  "Directory of models of other jobs, for policy none and for epochs")
      ->type_name("DIR");
  add_output(command, options->output, kFormats);
  command.callback([options, &globals, &run] {
    run = [options, &globals] { return run_next(*options, globals); };
  });
}

}  // namespace plumber
