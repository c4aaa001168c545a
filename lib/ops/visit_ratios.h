// SPDX-License-Identifier: Apache-2.0
// Visit ratios V_i: elements of node i per root element (design §3, paper §4 "visit ratio").
//
//   V_root = 1;   V_input = V_i * r_i,   r_i = input elements per element of i
//
// r_i is structural where the op fixes it (batch size, 1 for map, prefetch, shuffle, ...): buffers
// being filled and counts that polling lost cannot bend it. Elsewhere (filter, shard, window, files
// of an interleave, shares of a concatenation) it is measured on the counters of node and input.
#pragma once

#include "ops/counter_window.h"
#include "pipeline/pipeline.h"

namespace plumber {

struct VisitRatios {
  PerNode<double> visits;
  PerNode<bool> structural;  // no measured ratio on the way from the root
  PerNode<bool> known;       // false: measured ratio needed, but nothing was counted
};

/// `epoch`: elements of one epoch, where a first look at the ratios told them: a concatenation's
/// shares follow them rather than the counts of a trace that ends in the middle of an epoch.
VisitRatios visit_ratios(const Pipeline& pipeline, const CounterWindow& window,
                         const PerNode<std::optional<double>>* epoch = nullptr);

/// Elements that each item of the input of a flat_map or interleave makes, as the program alone
/// tells; nullopt where it does not.
std::optional<double> program_per_item(const Node& node,
                                       const PerNode<std::optional<double>>& program);

/// Elements of one pass as the program alone tells: ranges, slices, take, zip, batch, ...
/// nullopt where it does not.
PerNode<std::optional<double>> program_cardinalities(const Pipeline& pipeline);

}  // namespace plumber
