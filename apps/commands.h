// SPDX-License-Identifier: Apache-2.0
// The commands: each adds itself to the command line, and sets what is to run when it is chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "exit_code.h"

namespace plumber {

/// Options of every command.
struct Globals {
  std::string color = "auto";  // auto, always, never
  bool quiet = false;          // no warnings, no summary
  bool verbose = false;        // every row of long tables, what is read and written
};

using Run = std::function<ExitCode()>;

void add_analyze(CLI::App& app, const Globals& globals, Run& run);
void add_optimize(CLI::App& app, const Globals& globals, Run& run);
void add_rewrite(CLI::App& app, const Globals& globals, Run& run);
void add_cluster(CLI::App& app, const Globals& globals, Run& run);
void add_diff(CLI::App& app, const Globals& globals, Run& run);
void add_show(CLI::App& app, const Globals& globals, Run& run);

/// Reads the command line into what is to run. Throws Error(kUsage) when it is wrong; help and
/// version are things to run too.
Run parse_command_line(int argc, const char* const* argv, Globals& globals);

}  // namespace plumber
