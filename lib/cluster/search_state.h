// SPDX-License-Identifier: Apache-2.0
// The state of a search for the right configuration, a JSON object that the user starts and that
// grows by a run at a time. Nothing that stands in it is ever changed.
//
//   {"schema_version": 1, "policy": "partial", "objective": "time",
//    "workers": [8, 12, 16, 20], "batches": [384, 512, 768, 1024], "usd_per_hour": 0.13402,
//    "workers_per_node": 1, "restore_s": 37, "profile_iterations": 20, "settle_iterations": 2000,
//    "budget_usd": 5, "job": {"samples": 50000, "e_star": -210.6, "theta": 557.0}, "runs":
//    [{"workers": 8, "global_batch": 384, "iteration_s": 1.488, "noise": 0.7868,
//              "noise_stable": true, "iterations": 2000}]}
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/plan.h"

namespace plumber {

enum class SearchPolicy { kFull, kPartial, kNone };
std::string policy_word(SearchPolicy policy);

struct ExploredRun {
  TrainingRun run;
  double iterations = 0;
  bool noise_stable = true;
};

struct SearchState {
  SearchPolicy policy = SearchPolicy::kPartial;
  ClusterObjective objective = ClusterObjective::kTime;
  std::vector<double> workers;  // ascending
  std::vector<double> batches;
  Job job;
  double usd_per_hour = 0;           // of one worker
  double workers_per_node = 1;       // that share a machine
  double restore_s = 0;              // from a checkpoint, on every change of configuration
  double profile_iterations = 20;    // of one configuration
  double settle_iterations = 2000;   // of the first one, until its noise is stable
  std::optional<double> budget_usd;  // for exploring; a hard limit
  Constraints constraints;
  std::vector<ExploredRun> runs;

  /// Workers packed on as few machines as hold them.
  double nodes_of(double count) const { return std::ceil(count / workers_per_node - 1e-9); }
};

SearchState parse_search_state(std::string_view text, const std::string& name);

/// The text of the state with one more run, "workers=8,global_batch=384,iteration_s=1.5,...".
std::string with_run(std::string_view text, const std::string& name, const std::string& run);

}  // namespace plumber
