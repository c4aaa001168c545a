// SPDX-License-Identifier: Apache-2.0
// The trace that a command works on: TRACE arguments, standard input, or --graph with --model.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace plumber {

struct TraceInput {
  std::vector<std::string> paths;  // empty: trace.pb in the current directory
  std::string graph;               // a bare GraphDef ...
  std::string model;               // ... and the ModelProto to it
};

void add_trace(CLI::App& command, TraceInput& input);

/// Adds --graph and --model. `optimize` has a --model of its own and adds only --graph.
void add_graph_and_model(CLI::App& command, TraceInput& input);
void add_graph(CLI::App& command, TraceInput& input);

/// Names of the files that load() reads.
std::vector<std::string> files_of(const TraceInput& input);

Trace load(const TraceInput& input);

}  // namespace plumber
