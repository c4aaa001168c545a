// SPDX-License-Identifier: Apache-2.0
// Every algebraic move that a pipeline allows, as the pipeline that it would make; and of those
// that it does not allow, why. Moves are made in the main graph, between nodes that one other node
// reads.
//
//   reorder             shard, skip, take, shuffle, batch go below the maps under them: the first
//                       one, the first two, ... with what stands between
//   reorder             maps go below the shuffle under them, where a cache can then keep them
//   remove              a prefetch; an exact cache; unbatch with the batch below it
//   convert             unbatch, batch -> rebatch
//   move_into_function  maps right above a deterministic interleave go into its function
//   balance             nested concatenations
//   reorder             a cache goes below a random map (permission unfreeze only)
//   unfuse              a map and batch in one is taken apart (unfused.h, which moves.cc asks)
//   lengthen_cycle      an interleave whose readers wait reads more data sets in turn (permission
//                       reorder-files; without it judged, and rejected with what it would bring)
#pragma once

#include <optional>
#include <vector>

#include "optimize/moved.h"
#include "optimize/optimize.h"

namespace plumber {

struct MoveCandidate {
  Moved moved;
  std::vector<Edit> edits;  // the last one carries the gain
  std::string node;         // which node it is about
  bool asked_for = false;   // by a permission, and not for speed
  double hit_share = 0;     // of a partial cache: so much of an epoch is as in `all_hits`
  std::optional<Moved> all_hits;
  bool for_memory = false;            // worth it for the memory alone
  std::optional<Permission> needs{};  // only to be judged: it is not permitted
  std::string what;                   // the change in a word, where that is to be said
  std::string why_little;             // why it can bring nothing; empty: that is no surprise
};

struct MoveCandidates {
  std::vector<MoveCandidate> legal;
  std::vector<Rejected> illegal;
};

MoveCandidates find_moves(const Moved& now, const OptimizeOptions& options);

}  // namespace plumber
