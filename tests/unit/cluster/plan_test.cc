// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "catch2_any.h"
#include "cluster/fit.h"
#include "measurements.h"

using namespace plumber;

namespace {

constexpr double kPrice = 0.13402;  // e2-standard-4, as the paper pays

Model model_of(const std::string& name, const std::vector<TrainingRun>& runs) {
  Job job;
  job.samples = paper_runs(name)[0].samples;
  return fit_model(runs, job, {});
}

PlanRequest request_for(const std::vector<double>& workers, const std::vector<double>& batches) {
  PlanRequest request;
  request.workers = workers;
  request.batches = batches;
  request.around.machines = {priced_worker(kPrice)};
  request.replicates = 0;
  return request;
}

PlanRequest paper_request(const std::string& name) {
  std::vector<double> batches;
  for (const PaperRun& one : paper_runs(name)) {
    if (one.run.workers == 8) batches.push_back(one.run.global_batch);
  }
  return request_for({8, 12, 16, 20}, batches);
}

// A model whose laws are known: tau = 0.1 + 0.01 b + 0.02 K, noise 0.5 + 5/sqrt(B), e = 10 + 100 g.
Model known_model() {
  std::vector<TrainingRun> runs;
  for (const double workers : {2., 4., 8., 16.}) {
    for (const double batch : {64., 256., 1024.}) {
      TrainingRun run;
      run.workers = workers;
      run.global_batch = batch;
      run.noise = 0.5 + 5 / std::sqrt(batch) - (batch == 64 ? 0.2 : 0);
      run.epochs = 10 + 100 * *run.noise;
      run.iteration_s = 0.1 + 0.01 * batch / workers + 0.02 * workers;
      runs.push_back(run);
    }
  }
  Job job;
  job.samples = 50000;
  return fit_model(runs, job, {});
}

struct Case {
  const char* model;
  double epochs, batch, tau_s, hours, cost;
};

}  // namespace

TEST_CASE("Time and cost of the paper's configurations (Eq. 3 to 5)") {
  const Case cases[] = {{"ResNet18", 233.47, 384, 0.8698, 7.3449, 15.7498},
                        {"ResNet50", 424.96, 1024, 4.5799, 26.398, 56.606},
                        {"ResNet50", 527.10, 384, 1.9001, 36.225, 77.678},
                        {"TransformerBase", 15.25, 512, 2.1737, 71.938, 154.258}};
  for (const Case& one : cases) {
    Model model;
    model.job.samples = paper_runs(one.model)[0].samples;
    EpochsFit epochs;
    epochs.law = EpochsLaw::kBatch;
    epochs.line.intercept = one.epochs;
    model.epochs = epochs;
    IterationFit fit;
    fit.chosen.model = IterationModel{IterationLaw::kScavenger, {{"d0", one.tau_s, {}}}, 0};
    model.iterations = {fit};
    model.valid.workers = {16, 16};
    model.valid.global_batch = {one.batch, one.batch};
    const Surroundings around{{priced_worker(kPrice)}, {}, {}, 0, 0, 0, {}};
    const Outcome candidate = *outcome_of(model, around, {16, one.batch, 0}).outcome;
    CHECK(candidate.iterations == Approx(one.epochs * *model.job.samples / one.batch));
    CHECK(candidate.hours == Approx(one.hours).epsilon(2e-5));
    CHECK(candidate.cost_usd == Approx(one.cost).epsilon(1e-4));
  }
}

TEST_CASE("Seconds are billed after a first minute") {
  CHECK(billed_s(0.2) == 60);
  CHECK(billed_s(60) == 60);
  CHECK(billed_s(60.5) == 61);
}

TEST_CASE("Machines priced by what they hold") {
  const auto machines = read_prices(parse_table(
      "name,vcpus,memory_gib,accelerators,usd_per_hour,usd_per_hour_spot,usd_per_vcpu_hour,"
      "usd_per_gib_hour\n"
      "e2-standard-4,4,16,,0.13402284,0.04,,\n"
      "e2-custom-4,4,,,,,0.02290217,0.003069707\n",
      "prices.csv"));
  const double gib = 1024. * 1024 * 1024;
  CHECK(*usd_per_hour(machines[0], {}, false) == Approx(0.13402284).epsilon(1e-9));
  CHECK(*usd_per_hour(machines[0], {}, true) == 0.04);
  CHECK(*usd_per_hour(machines[1], 16 * gib, false) == Approx(0.140723992).epsilon(1e-9));
  CHECK(*usd_per_hour(machines[1], 8 * gib, false) == Approx(0.116166336).epsilon(1e-6));
  CHECK(*custom_memory_gib(machines[1], 7.9 * gib) == 8);
  CHECK(*custom_memory_gib(machines[1], 0.1 * gib) == 2);  // 0.5 GiB a vCPU at least
  CHECK_FALSE(custom_memory_gib(machines[1], 33 * gib));   // 8 at most
  CHECK_FALSE(usd_per_hour(machines[0], 17 * gib, false));
  CHECK_FALSE(usd_per_hour(machines[1], 8 * gib, true));
}

TEST_CASE("Illegal shapes are refused at their place") {
  const auto refusal = [](const std::string& vcpus) -> std::string {
    try {
      read_prices(
          parse_table("name,vcpus,usd_per_vcpu_hour\nodd," + vcpus + ",0.02\n", "prices.csv"));
    } catch (const Error& error) {
      return format(error);
    }
    return "";
  };
  CHECK(refusal("6").empty());
  CHECK(refusal("5") ==
        "plumber: error: prices.csv:2:5: 5 vCPUs are no legal shape: multiples of 2 up to 32 are\n"
        "hint: other rules go in the columns vcpu_step and max_vcpus");
  CHECK(refusal("34").find("34 vCPUs are no legal shape") != std::string::npos);
  CHECK(refusal("") ==
        "plumber: error: prices.csv:2:6: a machine priced by its vCPUs needs column 'vcpus'\n"
        "hint: give its number of vCPUs");
}

TEST_CASE("Fronts and knees of the measured costs") {
  const struct {
    const char* model;
    std::vector<double> front, kneedle, with_fall_back;  // by B, ascending: K of the knee; 0: none
  } known[] = {{"ResNet18", {20, 16, 12, 8}, {16, 12, 16, 16}, {16, 12, 16, 16}},
               {"ResNet50", {20, 16, 12, 8}, {16, 0, 12, 0}, {16, 12, 12, 16}},
               {"TransformerBase", {20, 16, 12, 8}, {16, 16, 0, 0}, {16, 16, 16, 16}}};
  for (const auto& one : known) {
    INFO(one.model);
    std::vector<Outcome> all;
    for (const PaperRun& run : paper_runs(one.model)) {
      Outcome candidate;
      candidate.at = {run.run.workers, run.run.global_batch, 0};
      candidate.hours = run.hours;
      candidate.cost_usd = run.hours * run.run.workers * kPrice;
      all.push_back(candidate);
    }
    const auto front = pareto_front(all);
    const double largest = all.back().at.global_batch;
    std::vector<double> workers;
    for (const Outcome& point : front) {
      CHECK(point.at.global_batch == largest);
      workers.push_back(point.at.workers);
    }
    CHECK(workers == one.front);
    CHECK(front.front().at == Configuration{20, largest, 0});  // the fastest
    CHECK(front.back().at == Configuration{8, largest, 0});    // the cheapest
    if (std::string(one.model) == "ResNet18") {
      const std::vector<double> usd{11.39, 9.89, 9.52, 9.31};
      for (std::size_t i = 0; i < 4; ++i) CHECK(front[i].cost_usd == Approx(usd[i]).margin(0.012));
      const KneePoint knee = *knee_of(front);
      CHECK(knee.method == "kneedle");
      CHECK(front[knee.index].hours == Approx(4.61));
      CHECK(front[knee.index].at == Configuration{16, 1024, 0});
    }
    const auto request = paper_request(one.model);
    for (std::size_t b = 0; b < request.batches.size(); ++b) {
      std::vector<Outcome> curve;
      for (const Outcome& point : all) {
        if (point.at.global_batch == request.batches[b]) curve.push_back(point);
      }
      curve = pareto_front(curve);
      const KneePoint knee = *knee_of(curve);
      CHECK((knee.method == "kneedle") == (one.kneedle[b] > 0));
      CHECK(knee.why.empty() == (one.kneedle[b] > 0));
      CHECK(curve[knee.index].at.workers == one.with_fall_back[b]);
    }
  }
}

TEST_CASE("Brute force over the grid finds nothing better than the plan") {
  const Model model = known_model();
  std::vector<double> workers, batches;
  for (double k = 1; k <= 32; ++k) workers.push_back(k);
  for (double b = 64; b <= 1024; b += 32) batches.push_back(b);
  PlanRequest request = request_for(workers, batches);
  request.constraints.max_cost_usd = 4;
  double best_hours = 1e300, best_cost = 1e300, best_product = 1e300;
  for (const double k : workers) {
    for (const double b : batches) {
      const double noise = noise_at(*model.noise, b);
      const double epochs = model.epochs->line.intercept + model.epochs->line.slope * noise;
      const double hours = epochs * 50000 / b * (0.1 + 0.01 * b / k + 0.02 * k) / 3600;
      const double cost = std::max(std::ceil(hours * 3600 - 1e-9), 60.) / 3600 * k * kPrice;
      if (cost > 4) continue;
      best_hours = std::min(best_hours, hours);
      best_cost = std::min(best_cost, cost);
      best_product = std::min(best_product, hours * cost);
    }
  }
  CHECK(make_cluster_plan(model, request).choice->hours == Approx(best_hours).epsilon(1e-6));
  request.objective = ClusterObjective::kCost;
  CHECK(make_cluster_plan(model, request).choice->cost_usd == Approx(best_cost).epsilon(1e-6));
  request.objective = ClusterObjective::kCostTime;
  const Outcome product = *make_cluster_plan(model, request).choice;
  CHECK(product.hours * product.cost_usd == Approx(best_product).epsilon(1e-6));
}

TEST_CASE("On a front nobody is both faster and cheaper, and everyone else is beaten by it") {
  std::uint64_t state = 1;
  const auto draw = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 40) / 1e6;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<Outcome> all(static_cast<std::size_t>(1 + round % 40));
    for (Outcome& one : all) {
      one.hours = std::floor(draw());
      one.cost_usd = std::floor(draw());
    }
    const auto front = pareto_front(all);
    for (std::size_t i = 1; i < front.size(); ++i) {
      CHECK(front[i].hours > front[i - 1].hours);
      CHECK(front[i].cost_usd < front[i - 1].cost_usd);
    }
    for (const Outcome& one : all) {
      CHECK(std::any_of(front.begin(), front.end(), [&](const Outcome& best) {
        return best.hours <= one.hours && best.cost_usd <= one.cost_usd;
      }));
    }
  }
}

TEST_CASE("What breaks a constraint is rejected with the reason") {
  Model model = known_model();
  model.job.memory_per_sample_bytes = 1e9;
  model.job.min_batch = 128;
  PlanRequest request = request_for({2, 8, 40}, {64, 256, 1024});
  request.around.machines[0].memory_bytes = 200e9;
  request.constraints.max_usd_per_hour = 1;
  const ClusterPlan plan = make_cluster_plan(model, request);
  std::vector<std::string> reasons;
  for (const RejectedConfiguration& one : plan.rejected) reasons.push_back(one.reason);
  CHECK(reasons == std::vector<std::string>{"below the job's smallest sensible batch, 128",
                                            "a worker needs 477 GiB, more than the machine has",
                                            "below the job's smallest sensible batch, 128",
                                            "costs 1.072 USD an hour, at most 1 are allowed",
                                            "costs 1.072 USD an hour, at most 1 are allowed",
                                            "below the job's smallest sensible batch, 128",
                                            "far outside of the runs: workers 40, seen 2 to 16",
                                            "far outside of the runs: workers 40, seen 2 to 16"});
  REQUIRE(plan.choice);
  CHECK(plan.choice->at == Configuration{2, 256, 0});
}

TEST_CASE("A slow input pipeline bounds the iteration, and no workers are bought that starve") {
  const Model model = known_model();
  PlanRequest request = request_for({2, 4, 8, 16}, {1024});
  request.around.machines = {priced_worker(1), priced_worker(2)};
  request.around.machines[0].name = "slow-input";
  request.around.machines[1].name = "fast-input";
  request.around.input = {{"slow-input", 20, false}, {"fast-input", 1e6, true}};
  const ClusterPlan plan = make_cluster_plan(model, request);
  REQUIRE(plan.by_machine.size() == 2);
  CHECK(plan.by_machine[0].limit == Limit::kInput);
  CHECK(plan.by_machine[0].iteration_s == Approx(1024. / 16 / 20));
  CHECK(plan.by_machine[1].limit == Limit::kCompute);
  CHECK(plan.choice->at.machine == 1);
  REQUIRE(plan.warnings.size() == 2);  // the first: runs that name no machine type
  CHECK(plan.warnings[0].starts_with("all 2 machine types (slow-input, fast-input) are taken as"));
  CHECK(plan.warnings[1] ==
        "the input pipeline delivers at most 1e+06 samples/s on a machine, perhaps less: plumber "
        "optimize says why");
}

TEST_CASE("Parameter servers and interruptions are paid for when they are given") {
  const Model model = known_model();
  Surroundings around;
  around.machines = {priced_worker(1)};
  around.machines[0].usd_per_hour_spot = 0.25;
  const Outcome plain = *outcome_of(model, around, {8, 256, 0}).outcome;
  around.parameter_servers = 2;
  around.parameter_server_usd_per_hour = 0.5;
  CHECK(outcome_of(model, around, {8, 256, 0}).outcome->usd_per_hour == 9);
  around.parameter_servers = 0;
  around.spot = {true, 0.05, 180};
  const Outcome spot = *outcome_of(model, around, {8, 256, 0}).outcome;
  CHECK(spot.usd_per_hour == 2);
  CHECK(spot.hours == Approx(plain.hours * (1 + 0.05 * 8 * 180 / 3600)));
}

TEST_CASE("A worker's batch that does not fit is computed in the fewest passes that do") {
  Model model = known_model();
  model.job.memory_fixed_bytes = 1e9;
  model.job.memory_per_sample_bytes = 1e9;
  PlanRequest request = request_for({8}, {1024});  // 128 samples a worker
  request.around.machines[0].memory_bytes = 34e9;
  CHECK_FALSE(make_cluster_plan(model, request).choice);
  request.around.most_accumulation = 2;
  CHECK(make_cluster_plan(model, request).rejected[0].reason ==
        "a worker needs 40.7 GiB, more than the machine has");
  request.around.most_accumulation = 10;
  const Outcome split = *make_cluster_plan(model, request).choice;
  CHECK(split.accumulation == 3);
  CHECK(split.memory_bytes == 33e9);
  request.around.machines[0].memory_bytes.reset();
  const Outcome whole = *make_cluster_plan(model, request).choice;
  CHECK(whole.accumulation == 0);
  CHECK(split.iteration_s == Approx(whole.iteration_s + 3 * 0.1).epsilon(1e-3));
}

TEST_CASE("A grid that cannot be tried is refused") {
  std::vector<double> many;
  for (int i = 1; i <= 1000; ++i) many.push_back(i);
  CHECK_THROWS_WITH(make_cluster_plan(known_model(), request_for(many, many)),
                    "1000000 configurations, more than 200000");
}

TEST_CASE("The bootstrap gives the same numbers every time, and exact runs a narrow range") {
  const Model model = model_of("ResNet18", profiled(paper_runs("ResNet18")));
  PlanRequest request = paper_request("ResNet18");
  request.replicates = 100;
  const Robustness once = *make_cluster_plan(model, request).robustness;
  const Robustness twice = *make_cluster_plan(model, request).robustness;
  CHECK(once.hours == twice.hours);
  CHECK(once.replicates == 100);
  CHECK(once.winners[0].at == Configuration{20, 1024, 0});
  CHECK(once.winners[0].share > 0.9);
  const double hours = make_cluster_plan(model, request).choice->hours;
  CHECK(once.hours.first < hours);
  CHECK(once.hours.second > hours);
  CHECK(once.hours.second < 1.25 * once.hours.first);
}

TEST_CASE(
    "A plan without a choice tells limits from what is out of reach, and the nearest to each") {
  const Model model = known_model();
  PlanRequest request = request_for({4, 8, 100}, {256});
  request.constraints.max_cost_usd = 1e-3;
  const ClusterPlan plan = make_cluster_plan(model, request);
  CHECK(!plan.choice);
  CHECK(plan.rejected.size() == 3);
  CHECK(plan.over_limit == 2);
  REQUIRE(plan.nearest.size() == 1);
  CHECK(plan.nearest[0].limit == "max_cost_usd");
  request.constraints = {};
  request.objective = ClusterObjective::kCost;
  CHECK(plan.nearest[0].outcome.at == make_cluster_plan(model, request).choice->at);
}

TEST_CASE("Machines whose network no run shows are bounded, and no draw claims them") {
  const Model model = known_model();  // one worker a machine
  PlanRequest request = request_for({2, 4}, {256});
  request.around.machines = {priced_worker(kPrice), priced_worker(3 * kPrice)};
  request.around.machines[0].name = "single";
  request.around.machines[1].name = "four";
  request.around.machines[1].workers = 4;
  request.objective = ClusterObjective::kCost;
  request.replicates = 20;
  const ClusterPlan plan = make_cluster_plan(model, request);
  REQUIRE(plan.candidates.size() == 4);
  for (std::size_t i : {0U, 1U}) {
    CHECK(!plan.candidates[i].at_most());
    CHECK(plan.candidates[i + 2].at_most());
    CHECK(plan.candidates[i + 2].hours == plan.candidates[i].hours);
  }
  CHECK(plan.some_at_most());
  CHECK(plan.robustness->winners.empty());
  CHECK(plan.robustness->replicates == 20);
  CHECK(std::any_of(plan.warnings.begin(), plan.warnings.end(), [](const std::string& one) {
    return one.find("upper bounds") != std::string::npos;
  }));
}
