// SPDX-License-Identifier: Apache-2.0
// The best plan of the default model within the limits of a problem: choices, search with and
// without caches, numbers. A cache pays if the optimum with it beats the one without by 2 % or more
// (10 % if it narrows the distribution of the order), in the steady state or, with a number of
// epochs, in the mean over them.
#pragma once

#include "optimize/settle.h"

namespace plumber {

struct BestPlan {
  Choices choices;
  Settled settled;
  SearchResult found;
  double without_cache_period_s = 0;  // the optimum without new caches
  bool over_budget = false;  // the program itself holds more than the memory: it only shrinks
  bool fits = true;          // and what is left of it fits
};

/// What a plan is judged by: the rate in the steady state, or the mean over --epochs.
double rate_of(const Problem& problem, const Settled& settled);

struct PlanOptions {
  // > 0: a target that is good enough. Stock TensorFlow's own plan wins if it reaches it, else the
  // one that takes the least memory, then the fewest edits.
  double period_s = 0;
  bool quick = false;  // for questions of "what if"
};

BestPlan best_plan(const Problem& problem, const PlanOptions& plan_options = {});

}  // namespace plumber
