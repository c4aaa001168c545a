// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cluster/search_step.h"

namespace plumber {
namespace {

// As many iterations as end in time.
void shorten(const SearchState& state, SearchStep& step) {
  const double iteration_s = (*step.seconds - state.restore_s) / step.iterations;
  const double fit = std::floor((*step.most_seconds - state.restore_s) / iteration_s);
  const double iterations = std::max(fit, state.profile_iterations);
  if (!(iterations < step.iterations)) return;
  step.cost_usd = *step.cost_usd / *step.seconds;
  step.iterations = iterations;
  step.seconds = state.restore_s + iterations * iteration_s;
  step.cost_usd = *step.cost_usd * *step.seconds;
}

}  // namespace

bool within_budget(const SearchState& state, double spent_usd, SearchStep& step) {
  if (!state.budget_usd) return true;
  const double left = *state.budget_usd - spent_usd;
  if (left <= 0) return false;
  step.most_seconds = left / (step.at.workers * state.usd_per_hour) * 3600;
  if (step.seconds && *step.seconds > *step.most_seconds) shorten(state, step);
  // Of a step of unknown cost the restore is known, and an iteration takes longer than nothing.
  const double least_s = step.seconds.value_or(state.restore_s);
  return least_s <= *step.most_seconds;
}

}  // namespace plumber
