// SPDX-License-Identifier: Apache-2.0
#include "cluster/profile_choice.h"

#include <cmath>

#include "catch2_any.h"

using namespace plumber;

namespace {

// Four workers on a machine; up to 64 of them with 64 to 256 samples each.
std::vector<Placement> grid() {
  std::vector<Placement> all;
  for (const double workers : {1., 2., 4., 8., 16., 32., 64.}) {
    for (const double batch : {64., 128., 256.}) {
      all.push_back({workers, std::ceil(workers / 4), workers * batch, 0});
    }
  }
  return all;
}

TrainingRun run_at_place(const Placement& at) {
  TrainingRun run;
  run.workers = at.workers;
  run.nodes = at.nodes;
  run.global_batch = at.global_batch;
  run.compute_s = .02 + .001 * run.per_worker_batch();
  run.iteration_s = *run.compute_s + (at.workers > 1 ? .01 : 0) + .03 * std::log2(at.nodes);
  run.sync_s = *run.iteration_s - *run.compute_s;
  return run;
}

}  // namespace

TEST_CASE("Each stretch of the network is profiled once, and then no more is needed") {
  const std::vector<Placement> all = grid();
  CHECK(crosses_machines(all));
  std::vector<TrainingRun> seen;
  std::vector<double> workers, nodes;
  while (const auto next = next_profile(all, seen)) {
    seen.push_back(run_at_place(all[next->at]));
    workers.push_back(all[next->at].workers);
    nodes.push_back(all[next->at].nodes);
    REQUIRE(seen.size() <= 5);
  }
  CHECK(workers == std::vector<double>{1, 4, 8, 16, 64});
  CHECK(nodes == std::vector<double>{1, 1, 2, 4, 16});
  CHECK(seen[0].per_worker_batch() == 128);  // the middle
  double least = 256, most = 64;
  for (const TrainingRun& run : seen) {
    least = std::min(least, run.per_worker_batch());
    most = std::max(most, run.per_worker_batch());
  }
  CHECK(least < most);  // compute has a constant part and one that grows
}

TEST_CASE("The batches do not hang on the unit of time") {
  const std::vector<Placement> all = grid();
  std::vector<TrainingRun> seen, slow;
  while (const auto next = next_profile(all, seen)) {
    CHECK(next_profile(all, slow)->at == next->at);
    TrainingRun run = run_at_place(all[next->at]);
    seen.push_back(run);
    for (auto* time : {&run.iteration_s, &run.compute_s, &run.sync_s}) *time = **time * 1000;
    slow.push_back(run);
  }
}

TEST_CASE("A grid within one machine, or of one worker a machine, has no border") {
  std::vector<Placement> within = grid();
  std::erase_if(within, [](const Placement& at) { return at.nodes > 1; });
  CHECK_FALSE(crosses_machines(within));
  std::vector<Placement> apart;
  for (const double workers : {8., 16.}) apart.push_back({workers, workers, 512, 0});
  CHECK_FALSE(crosses_machines(apart));
  const auto corners = corners_of(apart);
  CHECK(corners[0].at == 0);
  CHECK(corners[1].at == 0);
  CHECK(corners[2].at == 1);
  CHECK(corners[3].at == 1);
}
