// SPDX-License-Identifier: Apache-2.0
#include "cluster/iteration_law.h"

#include <cmath>

#include "catch2_any.h"
#include "cluster/iteration_fit.h"

using namespace plumber;

TEST_CASE("Pollux's law with known numbers") {
  IterationModel model{IterationLaw::kPollux,
                       {{"ac", .1, {}},
                        {"bc", .01, {}},
                        {"an", .2, {}},
                        {"bn", .02, {}},
                        {"ar", .05, {}},
                        {"br", .005, {}},
                        {"g", 2, {}}},
                       0};
  const auto throughput = [&](double nodes, double workers) {
    return workers * 32 / iteration_time(model, {workers, nodes, 32 * workers}).iteration_s;
  };
  CHECK(throughput(1, 1) == Approx(76.190476).epsilon(1e-8));
  CHECK(throughput(1, 4) == Approx(301.698893).epsilon(1e-8));
  CHECK(throughput(4, 16) == Approx(802.748474).epsilon(1e-8));
  const double accumulated_s = iteration_time(model, {16, 4, 4. * 32 * 16, 3}).iteration_s;
  CHECK(4 * 32 * 16 / accumulated_s == Approx(1079.138298).epsilon(2e-6));
}

TEST_CASE("Each law finds itself in the runs that it made") {
  for (const IterationLaw law : {IterationLaw::kPollux, IterationLaw::kOverlap}) {
    INFO(law_word(law));
    IterationModel truth;
    truth.law = law;
    truth.coefficients =
        law == IterationLaw::kPollux
            ? std::vector<Coefficient>{{"ac", .1, {}},   {"bc", .01, {}}, {"an", .2, {}},
                                       {"bn", .004, {}}, {"ar", .05, {}}, {"br", .002, {}},
                                       {"g", 2, {}}}
            : std::vector<Coefficient>{{"compute", .1, {}},  {"compute_per_sample", .01, {}},
                                       {"in_node", .02, {}}, {"two_nodes", .5, {}},
                                       {"across", .2, {}},   {"across_log2", .05, {}},
                                       {"g", 3, {}}};
    std::vector<TrainingRun> runs;
    for (const double workers : {1., 2., 4., 8., 16., 32., 64.}) {
      for (const double b : {16., 64., 256.}) {
        TrainingRun run;
        run.workers = workers;
        run.nodes = std::ceil(workers / 4);
        run.global_batch = b * workers;
        const IterationTime time = iteration_time(truth, placement_of(run));
        run.iteration_s = time.iteration_s;
        run.compute_s = time.compute_s;
        run.sync_s = time.sync_s;
        runs.push_back(run);
      }
    }
    const LawResult found = fit_law(law, runs, {});
    CHECK(found.mean_error < 0.01);
    CHECK(fit_iteration(runs, {}).chosen.law == law);
  }
}

TEST_CASE("Standard errors of laws that are not linear are those of repeated measurements") {
  const IterationModel truth{IterationLaw::kPollux,
                             {{"ac", .1, {}},
                              {"bc", .01, {}},
                              {"an", .2, {}},
                              {"bn", .004, {}},
                              {"ar", .05, {}},
                              {"br", .002, {}},
                              {"g", 2, {}}},
                             0};
  std::uint64_t state = 7;
  const auto scatter = [&] {  // a triangle of 2 % about 1
    double sum = 0;
    for (int i = 0; i < 2; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      sum += static_cast<double>(state >> 40) / static_cast<double>(1 << 24) - 0.5;
    }
    return 1 + 0.05 * sum;
  };
  std::vector<double> slopes, errors;
  for (int repeat = 0; repeat < 40; ++repeat) {
    std::vector<TrainingRun> runs;
    for (const double workers : {1., 2., 4., 8., 16., 32., 64.}) {
      for (const double b : {16., 64., 256.}) {
        TrainingRun run;
        run.workers = workers;
        run.nodes = std::ceil(workers / 4);
        run.global_batch = b * workers;
        const IterationTime time = iteration_time(truth, placement_of(run));
        run.iteration_s = time.iteration_s * scatter();
        run.compute_s = time.compute_s * scatter();
        runs.push_back(run);
      }
    }
    const LawResult found = fit_law(IterationLaw::kPollux, runs, {});
    for (const Coefficient& one : found.model->coefficients) {
      if (one.name != "bc") continue;
      REQUIRE(one.standard_error);
      slopes.push_back(one.value);
      errors.push_back(*one.standard_error);
    }
  }
  double mean = 0, variance = 0, error = 0;
  for (std::size_t i = 0; i < slopes.size(); ++i) mean += slopes[i] / 40;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    variance += (slopes[i] - mean) * (slopes[i] - mean) / 39;
    error += errors[i] / 40;
  }
  CHECK(mean == Approx(.01).epsilon(0.01));
  CHECK(error == Approx(std::sqrt(variance)).epsilon(0.4));
}

TEST_CASE("What the points do not tell has no standard error") {
  std::vector<TrainingRun> runs;  // within one machine: the network across is not seen
  for (const double workers : {1., 2., 4.}) {
    for (const double b : {16., 64., 256.}) {
      TrainingRun run;
      run.workers = workers;
      run.nodes = 1;
      run.global_batch = b * workers;
      run.iteration_s = .1 + .01 * b + .02 * (workers - 1);
      runs.push_back(run);
    }
  }
  const LawResult found = fit_law(IterationLaw::kPollux, runs, {});
  for (const Coefficient& one : found.model->coefficients) {
    if (one.name == "an" || one.name == "bn") CHECK_FALSE(one.standard_error);
    if (one.name == "bc") CHECK(one.standard_error);
  }
}

TEST_CASE("Gradients that are added up pay compute's constant again and the network once") {
  const Placement plain{8, 8, 512}, twice{8, 8, 512, 1};
  const IterationModel parts{IterationLaw::kScavenger,
                             {{"c0", .1, {}}, {"c1", .01, {}}, {"s0", .2, {}}, {"s1", .03, {}}},
                             0};
  CHECK(iteration_time(parts, plain).iteration_s == Approx(.1 + .64 + .2 + .24));
  CHECK(iteration_time(parts, twice).iteration_s == Approx(.1 + .1 + .64 + .2 + .24));
  const IterationModel whole{
      IterationLaw::kScavenger, {{"d0", .3, {}}, {"d1", .01, {}}, {"d2", .03, {}}}, 0};
  CHECK(iteration_time(whole, twice).iteration_s == Approx(.3 + .3 + .64 + .24));
  const IterationModel ernest{
      IterationLaw::kErnest, {{"t0", .1, {}}, {"t1", .01, {}}, {"t2", 0, {}}, {"t3", .03, {}}}, 0};
  CHECK(iteration_time(ernest, twice).iteration_s == Approx(.2 + .64 + .24));
  const IterationModel overlap{
      IterationLaw::kOverlap,
      {{"compute", .1, {}}, {"compute_per_sample", .01, {}}, {"across", .5, {}}, {"g", 2, {}}},
      0};
  CHECK(iteration_time(overlap, twice).iteration_s == Approx(.42 + std::sqrt(.42 * .42 + .5 * .5)));
}

TEST_CASE("What no run shows of the overlap law is absent, and g keeps to its borders") {
  std::vector<TrainingRun> runs;
  for (const double batch : {16., 64., 256.}) {
    for (const double workers : {1., 8.}) {
      TrainingRun run;
      run.workers = workers;
      run.nodes = workers / 4 <= 1 ? 1 : 2;
      run.global_batch = workers * batch;
      run.compute_s = .02 + .001 * batch;
      run.iteration_s = *run.compute_s + (workers > 1 ? .3 : 0);  // nothing overlaps
      runs.push_back(run);
    }
  }
  std::string why;
  const auto law = fit_overlap(runs, {}, why);
  REQUIRE(law);
  CHECK(!law->coefficient("in_node"));
  CHECK(law->value("two_nodes") == Approx(.3).epsilon(.05));
  CHECK(!law->coefficient("across"));
  CHECK(!law->coefficient("across_log2"));
  CHECK(law->value("g") >= 1);
  CHECK(law->value("g") < 1.2);
  const auto again = fit_overlap(runs, law, why);  // from there: no further
  CHECK(again->value("two_nodes") == Approx(law->value("two_nodes")).epsilon(1e-3));
}

namespace {

// One worker a machine, on 1 to 16 machines: compute 0.02 + 0.001 b, network 0.1 log2 K + 0.1.
std::vector<TrainingRun> runs_apart() {
  std::vector<TrainingRun> runs;
  for (const double workers : {1., 2., 4., 8., 16.}) {
    for (const double batch : {16., 256.}) {
      TrainingRun run;
      run.workers = run.nodes.emplace(workers);
      run.global_batch = workers * batch;
      run.compute_s = .02 + .001 * batch;
      run.iteration_s = *run.compute_s + (workers > 1 ? .1 + .1 * std::log2(workers) : 0);
      runs.push_back(run);
    }
  }
  return runs;
}

}  // namespace

TEST_CASE("Workers of one machine that no run shows are as slow as one worker a machine") {
  for (const IterationLaw law : {IterationLaw::kScavenger, IterationLaw::kOverlap,
                                 IterationLaw::kErnest, IterationLaw::kPollux}) {
    std::string why;
    const auto model = fit_only(law, runs_apart(), {}, why);
    INFO(law_word(law) << why);
    REQUIRE(model);
    for (const double workers : {2., 4., 16.}) {
      const Placement apart{workers, workers, 64 * workers};
      for (const double nodes : {1., workers / 2}) {
        if (nodes == workers) continue;
        const Placement packed{workers, nodes, 64 * workers};
        CHECK(determined(*model, packed) == Determined::kAtMostAsApart);
        CHECK(iteration_time(*model, packed).iteration_s ==
              iteration_time(*model, apart).iteration_s);
      }
      CHECK(determined(*model, apart) == Determined::kByRuns);
    }
    CHECK(determined(*model, {1, 1, 64}) == Determined::kByRuns);
  }
}

TEST_CASE("A run with several workers on a machine tells the network within it") {
  std::vector<TrainingRun> runs = runs_apart();
  for (const double batch : {16., 256.}) {
    TrainingRun run = runs[0];
    run.workers = 4;
    run.nodes = 1;
    run.global_batch = 4 * batch;
    run.compute_s = .02 + .001 * batch;
    run.iteration_s = *run.compute_s + .06;
    runs.push_back(run);
  }
  for (const IterationLaw law : {IterationLaw::kOverlap, IterationLaw::kPollux}) {
    std::string why;
    const auto model = fit_only(law, runs, {}, why);
    REQUIRE(model);
    CHECK(determined(*model, {4, 1, 256}) == Determined::kByRuns);
    CHECK(determined(*model, {8, 2, 512}) == Determined::kByRuns);
    CHECK(iteration_time(*model, {4, 1, 256}).iteration_s <
          .8 * iteration_time(*model, {4, 4, 256}).iteration_s);
  }
}

TEST_CASE("Runs on one machine determine nothing across machines, those on two no more than two") {
  std::vector<TrainingRun> within = runs_apart(), pairs;
  for (TrainingRun& run : within) {
    run.nodes = 1;
    pairs.push_back(run);
    pairs.back().nodes = std::ceil(run.workers / 8);
  }
  for (const IterationLaw law :
       {IterationLaw::kScavenger, IterationLaw::kErnest, IterationLaw::kPollux}) {
    std::string why;
    const auto model = fit_only(law, within, {}, why);
    REQUIRE(model);
    CHECK(determined(*model, {4, 2, 256}) == Determined::kNot);
    CHECK(determined(*model, {4, 1, 256}) == Determined::kByRuns);
  }
  std::string why;
  const auto overlap = fit_only(IterationLaw::kOverlap, pairs, {}, why);
  REQUIRE(overlap);
  CHECK(determined(*overlap, {16, 2, 1024}) == Determined::kByRuns);
  CHECK(determined(*overlap, {32, 4, 2048}) == Determined::kAtMostAsPairs);
  const double two_s = iteration_time(*overlap, {32, 2, 2048}).sync_s;
  CHECK(iteration_time(*overlap, {32, 4, 2048}).sync_s > 1.5 * two_s);
}

TEST_CASE("One number of workers does not tell how pollux's network grows with them") {
  std::vector<TrainingRun> runs;
  for (const double workers : {1., 4., 16.}) {
    for (const double batch : {16., 64., 256.}) {
      TrainingRun run;
      run.workers = workers;
      run.nodes = std::ceil(workers / 4);
      run.global_batch = workers * batch;
      run.compute_s = .02 + .001 * batch;
      run.iteration_s = *run.compute_s + (workers > 4 ? .1 : workers > 1 ? .03 : 0);
      runs.push_back(run);
    }
  }
  std::string why;
  const auto model = fit_only(IterationLaw::kPollux, runs, {}, why);
  REQUIRE(model);
  CHECK(!model->coefficient("bn"));
  CHECK(!model->coefficient("br"));
  const auto sync_s = [&](double workers, double nodes) {
    return iteration_time(*model, {workers, nodes, 64 * workers}).sync_s;
  };
  CHECK(determined(*model, {16, 4, 1024}) == Determined::kByRuns);
  CHECK(determined(*model, {4, 1, 256}) == Determined::kByRuns);
  CHECK(sync_s(16, 4) == Approx(.1).epsilon(.1));
  // Fewer are taken for no faster, more for slower with each.
  for (const Placement& at :
       {Placement{8, 2, 512}, Placement{64, 16, 4096}, Placement{2, 1, 128}}) {
    CHECK(determined(*model, at) == Determined::kAtMostAsGrown);
  }
  CHECK(sync_s(8, 2) == sync_s(16, 4));
  CHECK(sync_s(2, 1) == sync_s(4, 1));
  CHECK(sync_s(64, 16) > 3.5 * sync_s(16, 4));
  TrainingRun more = runs.back();
  more.workers = 64;
  more.nodes = 16;
  more.global_batch = 4096;
  more.compute_s = .084;
  more.iteration_s = .21;
  runs.push_back(more);
  const auto told = fit_only(IterationLaw::kPollux, runs, {}, why);
  CHECK(told->coefficient("bn"));
  CHECK(determined(*told, {8, 2, 512}) == Determined::kByRuns);
}
