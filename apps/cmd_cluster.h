// SPDX-License-Identifier: Apache-2.0
// The subcommands of `plumber cluster`, one a file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "commands.h"
#include "output.h"

namespace plumber {

void add_cluster_noise(CLI::App& cluster, const Globals& globals, Run& run);
void add_cluster_fit(CLI::App& cluster, const Globals& globals, Run& run);
void add_cluster_plan(CLI::App& cluster, const Globals& globals, Run& run);
void add_cluster_next(CLI::App& cluster, const Globals& globals, Run& run);

inline const std::vector<std::string> kClusterFormats{"text", "json", "csv"};

/// A subcommand whose options are a struct with a member `output`.
template <class Options>
struct Subcommand {
  const char* name;
  const char* purpose;
  void (*add_options)(CLI::App& command, Options& options);
  ExitCode (*execute)(const Options& options, const Globals& globals);
};

template <class Options>
void add_subcommand(CLI::App& cluster, const Globals& globals, Run& run,
                    const Subcommand<Options>& text) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *cluster.add_subcommand(text.name, text.purpose);
  text.add_options(command, *options);
  add_output(command, options->output, kClusterFormats);
  command.callback([options, &globals, &run, execute = text.execute] {
    run = [options, &globals, execute] { return execute(*options, globals); };
  });
}

/// What `answer` returns; an Error about an input that it cannot place itself is given the file.
template <class Answer>
auto located_in(const std::string& path, const Answer& answer) {
  try {
    return answer();
  } catch (const Error& error) {
    if (error.kind != ErrorKind::kInput || !error.where.empty()) throw;
    throw Error(error.kind, path, error.what(), error.hint);
  }
}

/// A whole number from 1 to `most`.
double parse_count(const std::string& text, const std::string& where, double most = 1e12);

/// "8..20" as [8, 20]; Error(kUsage) when it is not a range of numbers above 0.
std::pair<double, double> parse_range(const std::string& text, const std::string& where);

/// Whole numbers from "8..20", "8..20:4" (every fourth) or "8,12,16", ascending.
std::vector<double> parse_counts(const std::string& text, const std::string& where);

}  // namespace plumber
