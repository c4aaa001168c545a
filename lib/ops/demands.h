// SPDX-License-Identifier: Apache-2.0
// Service and CPU demands of each node (design §3): what it asks per element and per root element.
#pragma once

#include "ops/analysis.h"
#include "ops/counter_window.h"
#include "ops/visit_ratios.h"

namespace plumber {

struct Demands {
  PerNode<NodeAnalysis> nodes;  // counts, ratios, times, rates, utilisation, parallelism, bytes
  Costs costs;                  // without think time; hand-off constants not yet fitted
  double node_time_s = 0;       // sum over nodes, what polling lost put back
  double kappa = 1;             // CPU share of node time
};

/// `filled[n]`: node n is a cache that only replays. Nodes below it keep first-epoch demands.
Demands demands(const Pipeline& pipeline, const CounterWindow& window, const VisitRatios& ratios,
                const PerNode<bool>& filled);

/// Caches of the program that were full within the window: they yielded more than they were given.
PerNode<bool> filled_caches(const Pipeline& pipeline, const CounterWindow& window);

}  // namespace plumber
