// SPDX-License-Identifier: Apache-2.0
// Search policies, replayed on the paper's measurements with its costs of exploring.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "catch2_any.h"
#include "cluster/fit.h"
#include "cluster/search_step.h"
#include "measurements.h"

using namespace plumber;

namespace {

constexpr double kPrice = 0.13402;

SearchState start(const std::string& model, SearchPolicy policy) {
  SearchState state;
  state.policy = policy;
  state.workers = {8, 12, 16};
  for (const PaperRun& one : paper_runs(model)) {
    if (one.run.workers == 8) state.batches.push_back(one.run.global_batch);
  }
  state.job = job_of_earlier_runs(paper_runs(model));
  state.usd_per_hour = kPrice;
  state.restore_s = model == "ResNet18" ? 37 : model == "ResNet50" ? 40 : 127;
  state.settle_iterations = model == "ResNet18" ? 2000 : model == "ResNet50" ? 3000 : 10000;
  return state;
}

PaperRun measured(const std::string& model, const Configuration& at) {
  const auto runs = paper_runs(model);
  return *std::find_if(runs.begin(), runs.end(), [&](const PaperRun& one) {
    return one.run.workers == at.workers && one.run.global_batch == at.global_batch;
  });
}

struct Replay {
  std::vector<Configuration> visited;
  Configuration chosen;
  double time_overhead = 0, cost_overhead = 0;  // against the optimum from the start
};

// Follows the proposals to their end. Exploring makes progress too: training goes on from a
// checkpoint, so an iteration at (K, B) does 1 / n(K, B) of the job.
Replay replay(const std::string& model, SearchPolicy policy) {
  SearchState state = start(model, policy);
  Replay done;
  double progress = 0, hours = 0, usd = 0;
  SearchOutcome result = next_step(state);
  for (int i = 0; i < 40 && !result.done; ++i) {
    const SearchStep step = *result.next;
    const PaperRun run = measured(model, step.at);
    const double iterations_in_all = run.hours * 3600 / *run.run.iteration_s;
    const double seconds = state.restore_s + step.iterations * *run.run.iteration_s;
    progress += step.iterations / iterations_in_all;
    hours += seconds / 3600;
    usd += seconds / 3600 * run.run.workers * kPrice;
    ExploredRun explored{run.run, step.iterations, true};
    explored.run.epochs.reset();
    state.runs.push_back(explored);
    done.visited.push_back(step.at);
    result = next_step(state);
  }
  REQUIRE(result.done);
  REQUIRE(result.best);
  done.chosen = result.best->at;
  double least = 1e300;
  PaperRun oracle;
  for (const PaperRun& one : paper_runs(model)) {
    if (one.run.iteration_s && one.hours < least) {
      least = one.hours;
      oracle = one;
    }
  }
  const PaperRun chosen = measured(model, done.chosen);
  done.time_overhead = (hours + (1 - progress) * chosen.hours) / oracle.hours - 1;
  done.cost_overhead = (usd + (1 - progress) * chosen.cost_usd) / oracle.cost_usd - 1;
  return done;
}

}  // namespace

TEST_CASE("Partial search profiles the corners, stops by itself and finds the optimum") {
  const Replay done = replay("ResNet18", SearchPolicy::kPartial);
  const std::vector<Configuration> corners{{8, 384, 0}, {8, 1024, 0}, {16, 1024, 0}, {16, 384, 0}};
  REQUIRE(done.visited.size() >= 4);
  CHECK(std::equal(corners.begin(), corners.end(), done.visited.begin()));
  CHECK(done.visited.size() <= 6);
  CHECK(done.chosen == Configuration{16, 1024, 0});
}

TEST_CASE("Replayed, partial search costs about what the paper says, full search more") {
  for (const std::string& model : kPaperModels) {
    const Replay partial = replay(model, SearchPolicy::kPartial);
    const Replay full = replay(model, SearchPolicy::kFull);
    CAPTURE(model, partial.visited.size(), partial.time_overhead, partial.cost_overhead,
            full.time_overhead, full.cost_overhead);
    CHECK(full.visited.size() == 12);
    CHECK(partial.chosen == full.chosen);
    if (model == "ResNet18") {
      CHECK(partial.time_overhead <= 0.135);  // the paper: 13 % of time, 9 % of cost
      CHECK(partial.cost_overhead <= 0.09);
    }
  }
}

TEST_CASE("The budget for exploring is hard") {
  SearchState state = start("ResNet18", SearchPolicy::kPartial);
  state.budget_usd = 0.95;
  TrainingRun run = measured("ResNet18", {8, 384, 0}).run;
  run.epochs.reset();
  state.runs.push_back({run, 2000, true});
  const SearchOutcome once = next_step(state);
  REQUIRE(once.next);  // what it takes is not known, and ends within the budget if it is stopped
  CHECK(!once.next->seconds);
  CHECK(*once.next->most_seconds < 180);
  run = measured("ResNet18", {8, 1024, 0}).run;
  state.runs.push_back({run, 200, true});
  const SearchOutcome result = next_step(state);
  CHECK(result.done);
  CHECK(result.why ==
        "the budget of 0.95 USD for exploring does not allow 16 workers with batch "
        "1024");
  CHECK(result.spent_usd > 0.95);
}

TEST_CASE("The first configuration runs until its noise settles") {
  SearchState state = start("ResNet18", SearchPolicy::kPartial);
  TrainingRun run = measured("ResNet18", {8, 384, 0}).run;
  state.runs.push_back({run, 500, false});
  const SearchOutcome result = next_step(state);
  REQUIRE(result.next);
  CHECK(result.next->at == Configuration{8, 384, 0});
  CHECK(result.next->iterations == 2000);
  CHECK(*result.next->seconds == Approx(37 + 2000 * 1.488));
}

TEST_CASE("Without search a stored model decides: of the same job, a near one, or all together") {
  std::vector<StoredModel> store;
  for (const std::string& name : kPaperModels) {
    Job job = job_of_earlier_runs(paper_runs(name));
    job.name = name;
    store.push_back({name, fit_model(profiled(paper_runs(name)), job, {}), false});
  }
  SearchState state = start("ResNet18", SearchPolicy::kNone);
  state.job.name = "ResNet50";
  CHECK(model_for(state, store)->name == "store: ResNet50");
  state.job = {};
  state.job.samples = 3e6;
  CHECK(model_for(state, store)->name == "store: TransformerBase");
  state.job = {};
  CHECK(model_for(state, store)->name == "average of 3 stored models");
  state.job.samples = 50000;
  const SearchOutcome result = next_step(state, store);
  CHECK(result.done);
  CHECK(result.best->at == Configuration{16, 1024, 0});
  CHECK(result.warnings.empty());
  CHECK_THROWS_AS(next_step(state), Error);

  // One profile gives the average the job's own scale.
  TrainingRun run = measured("ResNet18", {8, 384, 0}).run;
  run.epochs.reset();
  state.job = job_of_earlier_runs(paper_runs("ResNet18"));
  state.job.name = "";
  for (StoredModel& one : store) one.model.job = {};
  state.runs.push_back({run, 20, true});
  const Model scaled = model_for(state, store)->model;
  CHECK(next_step(state, store).warnings.size() == 1);
  CHECK(iteration_time(*scaled.iterations[0].chosen.model, {8, 8, 384}).iteration_s ==
        Approx(*run.iteration_s).epsilon(0.03));
}

TEST_CASE("A first profile that has settled when it was repeated is not asked for again") {
  std::string state =
      R"({"policy":"full","workers":[8,16],"batches":[384,1024],"usd_per_hour":0.13402})";
  const auto next_after = [&](const std::string& record) {
    state = with_run(state, "state.json", "workers=8,global_batch=384,iteration_s=1.49" + record);
    return next_step(parse_search_state(state, "state.json")).next->at;
  };
  CHECK(next_after(",noise=0.79,noise_stable=false").global_batch == 384);
  CHECK(next_after(",noise=0.79,noise_stable=true").global_batch == 1024);
  CHECK(next_after(",noise_stable=false").global_batch == 1024);  // no noise that could settle
}

TEST_CASE("A state grows by whole runs, and a run that makes no sense is not written") {
  const std::string text =
      R"({"policy":"partial","workers":[8,16],"batches":[384,1024],"usd_per_hour":0.13402})";
  const std::string grown =
      with_run(text, "state.json",
               "workers=8,global_batch=384,iteration_s=1.488,noise=0.7868,iterations=2000");
  const SearchState state = parse_search_state(grown, "state.json");
  REQUIRE(state.runs.size() == 1);
  CHECK(state.runs[0].iterations == 2000);
  CHECK(state.runs[0].noise_stable);
  CHECK(parse_search_state(with_run(grown, "state.json",
                                    "workers=8,global_batch=1024,noise=.7,"
                                    "iteration_s=3"),
                           "state.json")
            .runs.size() == 2);
  CHECK_THROWS_WITH(with_run(text, "state.json", "workers=8"), "column 'global_batch' is empty");
  CHECK_THROWS_WITH(parse_search_state(R"({"worker":[8]})", "state.json"),
                    "unknown member 'worker'");
  CHECK_THROWS_WITH(with_run(text, "state.json", "worker=8"), "unknown member 'worker'");
  CHECK_THROWS_WITH(with_run(text, "state.json", "workers=8,workers=9"),
                    "'workers' is there twice");
}

TEST_CASE("A budget shortens what it can tell, and of the rest says when it is spent") {
  SearchState state;
  state.usd_per_hour = 3.6;  // a worker second costs 0.001
  state.restore_s = 10;
  state.profile_iterations = 20;
  state.budget_usd = 0.1;
  const auto step = [](std::optional<double> iteration_s) {
    SearchStep one{{2, 64, 0}, 1000, {}, {}, {}, {}};
    if (iteration_s) one.seconds = 10 + 1000 * *iteration_s;
    if (iteration_s) one.cost_usd = *one.seconds * .002;
    return one;
  };
  SearchStep known = step(.2);  // 210 s of the 50 that two workers may take
  CHECK(within_budget(state, 0, known));
  CHECK(known.iterations == 200);
  CHECK(*known.seconds == Approx(50));
  CHECK(*known.cost_usd == Approx(.1));
  SearchStep slow = step(3);  // 20 iterations are a minute
  CHECK(!within_budget(state, 0, slow));
  SearchStep unknown = step({});
  CHECK(within_budget(state, .05, unknown));
  CHECK(*unknown.most_seconds == Approx(25));
  CHECK(unknown.iterations == 1000);
  CHECK(!within_budget(state, .085, unknown));  // the restore alone takes 10 s
  CHECK(!within_budget(state, .1, unknown));
  state.budget_usd.reset();
  SearchStep free = step({});
  CHECK(within_budget(state, 7, free));
  CHECK(!free.most_seconds);
}

namespace {

// What an iteration of an invented job takes, up to 12 % off any smooth law.
TrainingRun shared_machines_run(const SearchState& state, const Configuration& at) {
  TrainingRun run;
  run.workers = at.workers;
  run.nodes = state.nodes_of(at.workers);
  run.global_batch = at.global_batch;
  run.noise = 0.5 + 4 / std::sqrt(at.global_batch);
  const double bend = 1 + 0.12 * std::sin(7 * at.workers + 3 * std::log(at.global_batch));
  const double network_s = *run.nodes > 1 ? .02 + .01 * std::log2(*run.nodes) : .01;
  run.compute_s = .02 + .0005 * run.per_worker_batch();
  run.iteration_s = bend * (*run.compute_s + (at.workers > 1 ? network_s : 0));
  run.sync_s.reset();
  return run;
}

}  // namespace

TEST_CASE("Where workers share machines the search ends on a configuration that it has profiled") {
  for (const ClusterObjective objective : {ClusterObjective::kTime, ClusterObjective::kCost}) {
    SearchState state;
    state.objective = objective;
    state.workers = {1, 2, 4, 8, 16, 32};
    state.batches = {256, 512, 1024, 2048, 4096};
    state.workers_per_node = 4;
    state.usd_per_hour = 1;
    state.job.samples = 1e6;
    state.job.e_star = 10;
    state.job.theta = 60;
    SearchOutcome result = next_step(state);
    while (!result.done && state.runs.size() < 30) {
      const Configuration at = result.next->at;
      state.runs.push_back({shared_machines_run(state, at), result.next->iterations, true});
      result = next_step(state);
    }
    REQUIRE(result.done);
    CAPTURE(state.runs.size(), result.why);
    CHECK(state.runs.size() <= 10);
    CHECK(result.best->profiled);
    CHECK(result.best->iteration_s ==
          Approx(*shared_machines_run(state, result.best->at).iteration_s));
  }
}
