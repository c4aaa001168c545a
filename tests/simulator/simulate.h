// SPDX-License-Identifier: Apache-2.0
// The rate of a pipeline under a plan, by running the threads that TensorFlow would start for it.
// Only the measured demands of the nodes and the machine's constants go in; no formula of
// ops/cost_model.h does, so that agreement of the two says something about both.
#pragma once

#include <limits>

#include "host.h"
#include "optimize/settle.h"

namespace plumber::simulated {

/// What runs: the program, what its nodes ask for, and how each is run.
struct Program {
  const Pipeline* pipeline = nullptr;
  const Costs* costs = nullptr;
  Setting setting;
  PerNode<int> buffers;  // of prefetches, in the program or inserted above a node
};

struct Horizon {
  int warm_up = 50;  // root elements
  int measured = 200;
  double limit_s = std::numeric_limits<double>::infinity();  // of simulated time
};

struct Measured {
  double rate_per_s = 0;  // root elements; 0: the limit came first
  double busy_cores = 0;
  double end_s = 0;  // simulated time when the last element was made
};

Measured simulate(const Program& program, const HostOptions& options, const Horizon& horizon);

/// A settled plan as a program.
Program program_of(const Problem& problem, const Settled& settled);

}  // namespace plumber::simulated
