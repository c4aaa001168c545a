// SPDX-License-Identifier: Apache-2.0
// A plan against random ones on a simulated machine: each node in any legal mode with any number of
// calls, prefetches anywhere with any buffer, within the same cores and memory. Half of the
// challengers are drawn anew, half are the best so far with a few things changed.
#pragma once

#include <random>
#include <string>

#include "optimize/best_plan.h"
#include "simulate.h"

namespace plumber::simulated {

/// Draws plans.
class RandomPlans {
 public:
  RandomPlans(const Problem& problem, const Settled& settled, unsigned seed);

  Program anew();
  Program near(Program program);
  /// Bytes that a program holds, as a plan's are counted.
  double memory_bytes(const Program& program) const;

 private:
  struct Ways {
    std::vector<Mode> modes;  // the first: as the plan has it where nothing else is legal
    int most_calls = 1;
    bool prefetch = false;
    bool buffer = false;
  };

  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  int size(int most);  // as many small ones as large ones
  void draw_mode(NodeId id, Program& program);
  void draw_buffer(NodeId id, Program& program);
  bool may_prefetch(NodeId id, const Program& program) const;

  const Problem& problem_;
  Settled settled_;
  Program base_;
  PerNode<Ways> ways_;
  std::minstd_rand random_;
};

struct ContestOptions {
  HostOptions host;
  int plans = 300;
  double calls = 5000;  // of functions and elements, how long a plan is watched
  unsigned seed = 1;
};

struct Outcome {
  double plan_per_s = 0;       // simulated
  double predicted_per_s = 0;  // by ops/cost_model.h
  double best_per_s = 0;       // of the random plans
  double busy_cores = 0;       // of the plan
  double best_predicted_per_s = 0;
  Program best_program;
  std::string plan, best;
  double ratio() const { return best_per_s / plan_per_s; }
};

Outcome contest(const Problem& problem, const Settled& settled, const ContestOptions& options);

/// The knobs of a program, one word a node that has any.
std::string describe(const Program& program);

}  // namespace plumber::simulated
