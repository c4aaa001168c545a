// SPDX-License-Identifier: Apache-2.0
// Which algebraic moves a plan makes. Each legal one (move_candidates.h) is judged by the best plan
// of the pipeline that it would make; the one that brings most is made, and so on until none brings
// enough: 2 % of the rate (10 % where the structure changes, which no line of Python can do:
// chunks, moves into functions; and where a map and batch is taken apart, whose costs were measured
// as one); at the same rate 10 % of the first epoch's, or 2 % of the memory.
// The rest is rejected, with the numbers. Moves come before all other edits of a plan, which are
// then those of the moved pipeline.
#pragma once

#include <string>
#include <vector>

#include "optimize/moved.h"
#include "optimize/optimize.h"

namespace plumber {

struct ChosenMoves {
  Moved moved;
  std::vector<Edit> edits;
  std::vector<Rejected> rejected;
  std::string warning;  // why none were tried; empty: they were, or should not be
  // With a partial cache: so much of an epoch runs at the other rate.
  double hit_share = 0;
  double hit_rate_per_s = 0;
};

/// The mean over an epoch of which a share runs at its own rate.
double mixed_rate_per_s(double share, double share_rate_per_s, double rate_per_s);

ChosenMoves choose_moves(const Pipeline& pipeline, const Analysis& analysis,
                         const OptimizeOptions& options);

/// The same node in the pipeline as traced; of one that a move has made, the node that it works
/// for. nullopt if it is not there.
std::optional<NodeId> original_of(const Pipeline& original, const Pipeline& moved, NodeId id);

}  // namespace plumber
