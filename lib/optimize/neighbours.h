// SPDX-License-Identifier: Apache-2.0
// Plans that differ from a given one at one node, or at two neighbouring ones: the programme's
// numbers hold only near the setting that it was built around, so that its plan is tried against
// them with the whole cost model. Small programs only; large ones keep the programme's plan.
#pragma once

#include <vector>

#include "optimize/search.h"

namespace plumber {

/// True if a is preferred to b among plans of the same period.
bool is_cheaper(const Candidate& a, const Candidate& b, bool memory_first);

class Neighbours {
 public:
  Neighbours(const Problem& problem, const Choices& choices, double memory_bytes);

  /// Goes to the fastest neighbour until none is faster.
  Candidate fastest_near(Candidate start) const;

  /// Goes to the cheapest neighbour with at most this period until none is cheaper.
  Candidate cheapest_near(Candidate start, double period_s, bool memory_first) const;

 private:
  struct Move {
    NodeId node{};
    NodeDecision decision;
  };

  std::vector<Move> moves_from(const Decisions& decisions) const;
  bool fits(const Candidate& candidate) const;

  const Problem& problem_;
  const Choices& choices_;
  double memory_bytes_;
  bool small_ = false;
};

}  // namespace plumber
