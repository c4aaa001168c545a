// SPDX-License-Identifier: Apache-2.0
// The resource model of the Plumber paper (MLSys 2022, section 4.3), exactly:
//
//   maximise    min_i theta_i R_i
//   subject to  sum theta_i <= cores,  theta_i <= 1 if i is sequential
//
// R_i is the rate of node i on one core, in root elements per second. A node inside a parallel
// interleave may use more than one core. Nodes that used no CPU limit nothing and are left out, and
// so is all that stands below a filled cache. No thread segments, think time, conversions, caches.
// The optimum in closed form is X = min(cores / sum 1/R_i, min over sequential R_i), and the fewest
// cores for it are theta_i = X / R_i: computed, because a solver's basis may spread what is spare.
#pragma once

#include <string>
#include <vector>

#include "lp/linear_program.h"
#include "ops/analysis.h"
#include "optimize/optimize.h"

namespace plumber {

struct PaperNode {
  NodeId node{};
  double rate_per_core_per_s = 0;
  bool sequential = false;
};

/// The nodes that the model knows of, source first.
std::vector<PaperNode> paper_nodes(const Pipeline& pipeline, const Analysis& analysis);

/// The program for a solver: columns "rate" and "theta:NODE", a row for each node and one for the
/// cores.
LinearProgram paper_program(const Pipeline& pipeline, const std::vector<PaperNode>& nodes,
                            double cores);

/// The optimum in closed form. `binding` is "cores" or the sequential nodes that stop the rate.
LpResult paper_optimum(const Pipeline& pipeline, const std::vector<PaperNode>& nodes, double cores);

}  // namespace plumber
