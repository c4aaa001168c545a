// SPDX-License-Identifier: Apache-2.0
// The subcommands of `plumber cluster`, one a file.
#pragma once

#include <string>
#include <vector>

#include "commands.h"

namespace plumber {

void add_cluster_noise(CLI::App& cluster, const Globals& globals, Run& run);
void add_cluster_fit(CLI::App& cluster, const Globals& globals, Run& run);
void add_cluster_plan(CLI::App& cluster, const Globals& globals, Run& run);
void add_cluster_next(CLI::App& cluster, const Globals& globals, Run& run);

/// "8..20" as [8, 20]; Error(kUsage) when it is not a range of numbers above 0.
std::pair<double, double> parse_range(const std::string& text, const std::string& where);

/// Whole numbers from "8..20", "8..20:4" (every fourth) or "8,12,16", ascending.
std::vector<double> parse_counts(const std::string& text, const std::string& where);

}  // namespace plumber
