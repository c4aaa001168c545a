// SPDX-License-Identifier: Apache-2.0
// What to profile next, and when to stop (Scavenger's search policies):
//
//   full     every configuration once, the first until its noise settles
//   partial  fewest workers and smallest batch until the noise settles, then the other corners of
//            (K, B), or where workers share machines the stretches of profile_choice.h; from there
//            the laws predict the rest. What they predict to be the best is profiled, unless that
//            costs more than 8 % of the training; a further configuration only while it may pay:
//            expected improvement > cost of exploring it
//   none     no profile: a stored model decides
//
// Expected improvement of c: mean over bootstrap replicates of max(0, value(best) - value(c)), in
// the objective's unit: hours for time and knee, USD for cost, the product for cost-time. Exploring
// costs a restore and the iterations, on all its workers. A step that would exceed the budget by
// what is known of it is not proposed, or shorter; of every step it is told when the budget is
// spent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/search_state.h"

namespace plumber {

/// One configuration to run.
struct SearchStep {
  Configuration at;
  double iterations = 0;
  // Unknown while neither a law nor a run of the same batch on fewer workers tells its iteration.
  std::optional<double> seconds;
  std::optional<double> cost_usd;
  std::optional<double> expected_improvement;
  std::optional<double> most_seconds;  // after which the budget is spent
};

struct SearchOutcome {
  bool done = false;
  std::optional<SearchStep> next;    // unless done
  std::string why;                   // of the step, or of the end
  std::vector<SearchStep> explored;  // the state's runs, with what each took
  std::optional<Outcome> best;       // the choice as far as is known
  double spent_usd = 0;              // on exploring
  double spent_hours = 0;
  std::string model_source;  // "runs", "store: NAME", "average of 3 stored models"
  std::vector<std::string> warnings;
};

/// `stored` stands in where the runs say nothing: for its epochs, and under policy none for all.
struct StoredModel {
  std::string name;
  Model model;
  bool is_average = false;
};

/// Whether the budget, of which so much is spent, allows the step: in fewer iterations where that
/// helps, but no fewer than a profile has.
bool within_budget(const SearchState& state, double spent_usd, SearchStep& step);

SearchOutcome next_step(const SearchState& state, const std::vector<StoredModel>& store = {});

/// The stored model nearest to the job: the same name, else the least distance of logarithms of
/// what both jobs say (samples, parameters, memory of a sample); without any of those the average
/// of all, scaled by the state's profiles if it has some. nullopt for an empty store.
std::optional<StoredModel> model_for(const SearchState& state,
                                     const std::vector<StoredModel>& store);

}  // namespace plumber
