// SPDX-License-Identifier: Apache-2.0
// A pipeline with its analysis after an algebraic move, without a new trace: demands follow from
// those that were measured. With e elements a root element, S below the map M below X:
//
//   X takes the place of M     M's demands and calls times e_X / e_M; X's elements have the bytes
//   of
//                              S (of a batch of S)
//   a batch takes it           M is called once a batch; of its work stays what is not overhead of
//                              single ops, at least a quarter
//   a node goes                its demands go with it
//
// Names stay, places change: node ids are those of the moved pipeline.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ops/analysis.h"

namespace plumber {

struct Moved {
  Pipeline pipeline;
  Analysis analysis;
};

/// What one op of a function costs a call besides its work on the element, s.
constexpr double kOpOfACall_s = 0.3e-6;

/// `above` reads `map`; afterwards the map reads `above`.
void swap_with_map(Moved& moved, NodeId map, NodeId above);

/// `map` reads `below` (a shuffle, repeat or prefetch), which reads the map afterwards.
void lower_map(Moved& moved, NodeId map, NodeId below);

/// Takes out a node that hands on what it reads.
void take_out(Moved& moved, NodeId id);

/// Of a cache that will be taken out: another one, elsewhere, is not taken for cheaper than this
/// one was measured to be, and it does not come back where it stood.
void forget_cache(Moved& moved, NodeId cache);

/// The map (filter, batch) goes into the function of `interleave`, over what it returns.
void put_inside(Moved& moved, NodeId map, NodeId interleave);

/// Puts the nodes in this order right before the place of the last one.
void gather_before(Moved& moved, const std::vector<NodeId>& nodes);

/// Sizes and cache classes anew, of the nodes of these names, which the move has changed.
void refresh(Moved& moved, const std::set<std::string>& names);

}  // namespace plumber
