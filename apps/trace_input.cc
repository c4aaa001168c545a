// SPDX-License-Identifier: Apache-2.0
#include "trace_input.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "trace/read.h"

namespace plumber {
namespace {

constexpr const char* kDefaultPath = "trace.pb";
constexpr const char* kStandardInput = "standard input";

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

TraceBytes bytes_of(const std::string& path) {
  if (path == "-") return {kStandardInput, read_descriptor(STDIN_FILENO, kStandardInput)};
  return {path, read_file(path)};
}

Trace load_graph_and_model(const TraceInput& input) {
  if (!input.paths.empty()) {
    throw Error(ErrorKind::kUsage, "", "TRACE and --graph with --model exclude each other",
                "give one or the other");
  }
  if (input.model.empty()) {
    throw Error(ErrorKind::kUsage, "--graph", "a GraphDef alone has no counters",
                "give its ModelProto by --model FILE");
  }
  if (input.graph.empty()) {
    throw Error(ErrorKind::kUsage, "--model", "a ModelProto alone has no program",
                "give its GraphDef by --graph FILE");
  }
  return decode_graph_and_model(bytes_of(input.graph), bytes_of(input.model));
}

}  // namespace

void add_trace(CLI::App& command, TraceInput& input) {
  command
      .add_option(
          "TRACE", input.paths,
          "Trace file (trace.pb if none is given), several dumps of one program, a directory "
          "of dumps, or - for standard input")
      ->type_name("");
}

void add_graph(CLI::App& command, TraceInput& input) {
  command
      .add_option("--graph", input.graph, "A bare GraphDef instead of a trace; needs --model FILE")
      ->type_name("FILE");
}

void add_graph_and_model(CLI::App& command, TraceInput& input) {
  add_graph(command, input);
  command.add_option("--model", input.model, "The bare ModelProto that belongs to --graph")
      ->type_name("FILE");
}

std::vector<std::string> files_of(const TraceInput& input) {
  std::vector<std::string> files = input.paths;
  for (const std::string& file : {input.graph, input.model})
    if (!file.empty()) files.push_back(file);
  if (files.empty()) files.emplace_back(kDefaultPath);
  return files;
}

Trace load(const TraceInput& input) {
  if (!input.graph.empty() || !input.model.empty()) return load_graph_and_model(input);
  const auto& paths = input.paths;
  if (paths.empty() && !exists(kDefaultPath)) {
    throw Error(ErrorKind::kIo, kDefaultPath, "no trace given, and none of this name here",
                "name a trace, or record one: plumber_tf.py trace PIPELINE.py:make -o trace.pb");
  }
  if (std::find(paths.begin(), paths.end(), "-") == paths.end()) {
    return read_trace(paths.empty() ? std::vector<std::string>{kDefaultPath} : paths);
  }
  std::vector<TraceBytes> files;
  for (const std::string& path : paths) files.push_back(bytes_of(path));
  return decode_trace(files);
}

}  // namespace plumber
