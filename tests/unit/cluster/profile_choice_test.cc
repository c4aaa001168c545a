// SPDX-License-Identifier: Apache-2.0
#include "cluster/profile_choice.h"

#include <cmath>
#include <set>

#include "catch2_any.h"
#include "cluster/seen_placements.h"

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

std::vector<TrainingRun> profiled_by_rule(const std::vector<Placement>& grid) {
  std::vector<TrainingRun> seen;
  while (const auto next = next_profile(grid, seen)) {
    seen.push_back(run_at_place(grid[next->at]));
    REQUIRE(seen.size() <= grid.size());
  }
  return seen;
}

}  // namespace

TEST_CASE("Each stretch of the network is profiled, and then no more is needed") {
  const std::vector<Placement> all = grid();
  CHECK(crosses_machines(all));
  const std::vector<TrainingRun> seen = profiled_by_rule(all);
  REQUIRE(seen.size() == 5);
  CHECK(seen[0].workers == 1);
  CHECK(seen[0].per_worker_batch() == 128);  // the middle
  std::set<Stretch> stretches;
  std::set<double> batches;
  for (const TrainingRun& run : seen) {
    stretches.insert(stretch_of(placement_of(run)));
    batches.insert(run.per_worker_batch());
  }
  CHECK(stretches.size() == 4);
  CHECK(batches.size() > 1);  // compute has a constant part and one that grows
}

TEST_CASE("One configuration of a stretch among many others is profiled all the same") {
  std::vector<Placement> all = grid();
  std::erase_if(all, [](const Placement& at) {
    return (at.nodes <= 1 && at.workers > 1) || (at.nodes == 2 && at.global_batch != 512);
  });
  all.push_back({2, 1, 128, 0});
  std::set<double> workers;
  for (const TrainingRun& run : profiled_by_rule(all)) workers.insert(run.workers);
  CHECK(workers.contains(2));
  CHECK(workers.contains(8));
}

TEST_CASE("Profiles that are there already count, wherever they come from") {
  const std::vector<Placement> all = grid();
  std::vector<TrainingRun> seen;
  for (const std::size_t i : {0U, 1U, 2U, 3U, 4U}) seen.push_back(run_at_place(all[i]));
  std::set<Stretch> rest;  // one and two workers were enough of a machine
  while (const auto next = next_profile(all, seen)) {
    seen.push_back(run_at_place(all[next->at]));
    rest.insert(stretch_of(all[next->at]));
  }
  CHECK(seen.size() == 7);
  CHECK(rest == std::set<Stretch>{Stretch::kTwoMachines, Stretch::kMoreMachines});
}

TEST_CASE("Two machines need a profile each for what they show") {
  std::vector<Placement> all = grid();
  std::erase_if(all, [](const Placement& at) { return at.nodes > 2; });
  CHECK(profiled_by_rule(all).size() == 3);
  all.resize(1);
  CHECK(profiled_by_rule(all).size() == 1);
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
