// SPDX-License-Identifier: Apache-2.0
// Plans that differ from a given one at one node, or at two neighbouring ones. The programme's
// numbers hold only near the setting that it was built around, so its plan is tried against them
// with the whole cost model. In large programs only changes at the bottleneck are tried, no more
// than a number of plans that depends on the program's size.
#pragma once

#include <functional>
#include <vector>

#include "optimize/search.h"

namespace plumber {

/// True if a is preferred to b among plans of the same period: fewest edits, then threads, then
/// memory; with a step of memory, fewest such steps before all that.
bool is_cheaper(const Candidate& a, const Candidate& b, double memory_step_bytes);

class Neighbours {
 public:
  Neighbours(const Problem& problem, const Choices& choices, double memory_bytes);

  /// Goes to the fastest neighbour until none is faster.
  Candidate fastest_near(const Candidate& start) const;

  /// Goes to the cheapest neighbour with at most this period until none is cheaper.
  Candidate cheapest_near(const Candidate& start, double period_s, double memory_step_bytes) const;

 private:
  struct Move {
    NodeId node{};
    NodeDecision decision;
  };
  using IsBetter = std::function<bool(const Candidate&, const Candidate&)>;

  std::vector<Move> moves_at(const Decisions& decisions, NodeId id) const;
  std::vector<NodeId> places(const Candidate& from) const;
  std::vector<Decisions> single_steps(const Candidate& from) const;
  std::vector<Decisions> double_steps(const Decisions& from) const;
  Candidate best_of(const std::vector<Decisions>& steps, const Candidate& start,
                    const IsBetter& is_better) const;
  Candidate descend(Candidate start, const IsBetter& is_better) const;
  Candidate drop_edits(Candidate start, const IsBetter& is_better) const;

  const Problem& problem_;
  const Choices& choices_;
  double memory_bytes_;
  bool small_ = false;
  int most_judged_ = 0;  // plans in one descent of a large program
};

}  // namespace plumber
