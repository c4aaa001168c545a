// SPDX-License-Identifier: Apache-2.0
// The best plan of the default model: the mixed-integer programme, solved again with the numbers of
// its own plan (at most four rounds), every plan judged by ops/cost_model.h, the best ones tried
// against their neighbours. Effort is counted in nodes of the search tree and plans judged, never
// in time, and shrinks as programs grow: what is left open is reported as a gap. Order of
// preference: the period; within 2 % of it fewest edits; then fewest threads; then least memory;
// then the first one found.
#pragma once

#include <string>

#include "lp/solution.h"
#include "optimize/choices.h"
#include "optimize/programme.h"

namespace plumber {

struct SearchOptions {
  double memory_bytes = 0;       // for calls in flight that may change, prefetches and caches
  double period_s = 0;           // > 0: good enough, so that cheaper plans win
  double memory_step_bytes = 0;  // > 0: fewest such steps of memory come before fewest edits
  bool quick = false;            // one round: for questions of "what if"
};

/// A plan as decisions, judged.
struct Candidate {
  Decisions decisions;
  Setting setting;
  double period_s = 0;
  double cpu_s = 0;  // core seconds per root element
  int edits = 0;
  double threads = 0;
  double memory_bytes = 0;
  int disk_caches = 0;
  double disk_bytes = 0;  // of these
};

struct SearchResult {
  Candidate best;
  Evaluation evaluation;
  double fastest_period_s = 0;  // of all plans seen; `best` is within the tolerance of it
  double bound_period_s = 0;    // no plan of the last programme has a shorter period
  bool proven = true;           // the programme was solved to its optimum
  std::string program;          // CPLEX LP text of the first round
};

constexpr double kTolerance = 0.02;  // periods this close count as the same

SearchResult search(const Problem& problem, const Choices& choices, const SearchOptions& options);

/// The setting that decisions make.
Setting setting_of(const Problem& problem, const Choices& choices, const Decisions& decisions);

/// True if a candidate keeps within so much memory and within the room for caches on disk.
bool is_within(const Problem& problem, const Candidate& candidate, double memory_bytes);

/// Judges decisions.
Candidate candidate_of(const Problem& problem, const Choices& choices, const Decisions& decisions);

}  // namespace plumber
