// SPDX-License-Identifier: Apache-2.0
#include "cluster/fit.h"

#include <cmath>
#include <set>

#include "base/error.h"
#include "base/knee.h"
#include "catch2_any.h"
#include "cluster/linear_fit.h"
#include "measurements.h"

using namespace plumber;

namespace {

std::string refusal(const std::string& csv, const IterationOptions& options = {}) {
  try {
    fit_model(read_runs(parse_table(csv, "runs.csv")), {}, options);
  } catch (const Error& error) {
    return format(error);
  }
  return "";
}

IterationOptions only(IterationLaw law) {
  IterationOptions options;
  options.law = law;
  return options;
}

}  // namespace

TEST_CASE("The paper's noise lines, to 4 decimals") {
  const struct {
    const char* model;
    double intercept, slope, two_intercept, two_slope;
    std::vector<double> line;
  } known[] = {{"ResNet18", 0.54778, 4.5448, 0.53850, 4.6642, {.7797, .7486, .7118, .6898}},
               {"ResNet50", 0.78761, 1.4980, 0.78734, 1.5225, {.8641, .8538, .8417, .8344}},
               {"TransformerBase", 0.66139, 5.9564, 0.66306, 5.8873, {.9246, .8763, .8475, .8279}}};
  for (const auto& one : known) {
    INFO(one.model);
    std::vector<TrainingRun> runs = profiled(paper_runs(one.model));
    const Line line = *fit_noise(runs);
    // Least squares of the printed points, by another program.
    CHECK(line.intercept == Approx(one.intercept).margin(5e-5));
    CHECK(line.slope == Approx(one.slope).margin(5e-5));
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(noise_at(line, runs[i].global_batch) == Approx(one.line[i]).margin(1e-4));
    }
    const double b_min = runs.front().global_batch, b_max = runs.back().global_batch;
    for (TrainingRun& run : runs) {
      if (run.global_batch != b_min && run.global_batch != b_max) run.noise.reset();
    }
    const Line two = *fit_noise(runs);
    CHECK(two.intercept == Approx(one.two_intercept).margin(1e-4));
    CHECK(two.slope == Approx(one.two_slope).margin(2e-3));
    CHECK(two.standard_errors.empty());
  }
}

// The points are known to 4 decimals, the published lines are of the points before they were
// rounded: the mean over K at each batch has to move by less than half a unit of the last decimal
// for least squares to give the published intercept and slope to all their decimals.
TEST_CASE("The published noise lines are those of the points before rounding") {
  const struct {
    const char* model;
    double intercept, slope, two_slope;
  } published[] = {{"ResNet18", 0.54785, 4.5432, 4.6642},
                   {"ResNet50", 0.78767, 1.4968, 1.5225},
                   {"TransformerBase", 0.66135, 5.9575, 5.8873}};
  for (const auto& one : published) {
    INFO(one.model);
    std::vector<TrainingRun> runs = profiled(paper_runs(one.model));
    const Line printed = *fit_noise(runs);
    double farthest = 0;
    for (TrainingRun& run : runs) {
      const double off = one.intercept - printed.intercept +
                         (one.slope - printed.slope) / std::sqrt(run.global_batch);
      farthest = std::max(farthest, std::abs(off));
      *run.noise += off;
    }
    CHECK(farthest < 2e-5);  // rounding allows 5e-5
    const Line line = *fit_noise(runs);
    CHECK(line.intercept == Approx(one.intercept).margin(1e-9));
    CHECK(line.slope == Approx(one.slope).margin(1e-9));
    const double b_min = runs.front().global_batch, b_max = runs.back().global_batch;
    std::erase_if(runs, [&](const TrainingRun& run) {
      return run.global_batch != b_min && run.global_batch != b_max;
    });
    // The slope through two of the moved points: the ends may still be off by what is left.
    const double reach = 1 / std::sqrt(b_min) - 1 / std::sqrt(b_max);
    CHECK(fit_noise(runs)->slope == Approx(one.two_slope).margin((1e-4 - 2 * farthest) / reach));
  }
}

TEST_CASE("The paper's lines of epochs; e_star may be negative") {
  const struct {
    const char* model;
    double e_star, theta;
  } known[] = {{"ResNet18", -210.61, 556.99},
               {"ResNet50", -1469.73, 2306.54},
               {"TransformerBase", -2.66, 19.28}};
  for (const auto& one : known) {
    const std::vector<TrainingRun> runs = profiled(paper_runs(one.model));
    const EpochsFit fit = *fit_epochs(runs, fit_noise(runs));
    CHECK(fit.line.intercept == Approx(one.e_star).epsilon(5e-3));
    CHECK(fit.line.slope == Approx(one.theta).epsilon(5e-3));
  }
}

TEST_CASE("Synchronisation and compute of the paper's Figure 3") {
  const struct {
    double batch, sync_s, compute_s;
  } known[] = {{384, .376, .494}, {512, .397, .799}, {768, .493, 1.107}, {1024, .620, 1.410}};
  std::size_t found = 0;
  for (const TableRow& row : measurements("paper_fig3_breakdown.csv").rows) {
    if (row.cell("model")->text != "ResNet18" || positive_in(row, "K") != 16) continue;
    for (const auto& one : known) {
      if (one.batch != positive_in(row, "B_probable")) continue;
      ++found;
      CHECK(positive_in(row, "sync_s") == Approx(one.sync_s).margin(1e-3));
      CHECK(positive_in(row, "compute_s") == Approx(one.compute_s).margin(1e-3));
    }
  }
  CHECK(found == 4);
}

TEST_CASE("The paper's iteration times: one model of the whole") {
  const auto runs = profiled(paper_runs("ResNet18"));
  const LawResult all = fit_law(IterationLaw::kScavenger, runs, {});
  CHECK(all.model->value("d0") == Approx(.155007).epsilon(2e-3));
  CHECK(all.model->value("d1") == Approx(.026704).epsilon(2e-3));
  CHECK(all.model->value("d2") == Approx(.008609).epsilon(1e-2));
  CHECK(all.mean_error == Approx(0.020).margin(1e-3));

  std::vector<TrainingRun> corners;
  for (const TrainingRun& run : partial_search(paper_runs("ResNet18"))) {
    if (run.iteration_s) corners.push_back(run);
  }
  Matrix without_constant;
  std::vector<double> times_s;
  for (const TrainingRun& run : runs) {
    without_constant.push_back({run.per_worker_batch(), run.workers});
    times_s.push_back(*run.iteration_s);
  }
  const auto two = least_squares(without_constant, times_s);
  CHECK(two->coefficients[0] == Approx(.027531).epsilon(1e-3));
  CHECK(two->coefficients[1] == Approx(.017042).epsilon(1e-3));
  const LawResult four = fit_law(IterationLaw::kScavenger, corners, {});
  CHECK(four.model->value("d0") == Approx(.07983).epsilon(5e-3));
  CHECK(four.model->value("d1") == Approx(.02687).epsilon(5e-3));
  CHECK(four.model->value("d2") == Approx(.01193).epsilon(5e-3));
}

TEST_CASE("A negative slope is reported, not hidden") {
  const auto runs = profiled(paper_runs("ResNet50"));
  const Model model = fit_model(runs, {}, only(IterationLaw::kScavenger));
  const IterationModel& law = *model.iterations[0].chosen.model;
  CHECK(law.value("d0") == Approx(.963908).epsilon(5e-3));
  CHECK(law.value("d2") == Approx(-.003982).epsilon(2e-2));
  CHECK(model.warnings ==
        std::vector<std::string>{
            "iteration time: coefficient d2 is negative (-0.003982): more workers seem to "
            "synchronise faster",
            "e_star is negative (-1469): the line of epochs holds only for the noise that was "
            "seen"});
}

TEST_CASE("Synchronisation fits better with a batch term, which is off unless asked for") {
  std::vector<TrainingRun> runs;
  for (const TableRow& row : measurements("paper_fig3_breakdown.csv").rows) {
    if (row.cell("model")->text != "ResNet18") continue;
    TrainingRun run;
    run.workers = positive_in(row, "K");
    run.global_batch = positive_in(row, "B_probable");
    run.compute_s = positive_in(row, "compute_s");
    run.sync_s = positive_in(row, "sync_s");
    run.iteration_s = *run.compute_s + *run.sync_s;
    runs.push_back(run);
  }
  const auto mean_error = [&](const IterationOptions& options) {
    const LawResult fit = fit_law(IterationLaw::kScavenger, runs, options);
    double sum = 0;
    for (const TrainingRun& run : runs) {
      sum += std::abs(iteration_time(*fit.model, placement_of(run)).sync_s / *run.sync_s - 1);
    }
    return sum / static_cast<double>(runs.size());
  };
  IterationOptions with_batch;
  with_batch.batch_term = true;
  CHECK(mean_error({}) > 0.2);
  CHECK(mean_error(with_batch) < 0.08);
}

TEST_CASE("Of very many runs 500 are used, and every configuration stays") {
  std::vector<TrainingRun> runs;
  for (int i = 0; i < 100000; ++i) {
    TrainingRun run;
    run.workers = i < 99990 ? 8 : 16 + i % 2;
    run.global_batch = 256 << i % 3;
    run.iteration_s = .1 + .001 * run.per_worker_batch() + .01 * run.workers + 1e-9 * i;
    runs.push_back(run);
  }
  const std::vector<TrainingRun> some = enough_of(runs);
  CHECK(some.size() <= 500);
  std::set<std::pair<double, double>> kept;
  for (const TrainingRun& run : some) kept.insert({run.workers, run.global_batch});
  CHECK(kept.size() == 9);
  CHECK(fit_model(runs, {}, {}).warnings[0].find("of 100000 runs are used") != std::string::npos);
}

TEST_CASE("Interruptions that the runs counted, a machine and hour") {
  const std::string csv =
      "workers,global_batch,nodes,iteration_s,epochs,restarts\n"
      "8,500,2,3.6,10,4\n"    // 1000 iterations: 1 h on 2 machines
      "16,500,4,1.8,10,2\n"   // half an hour on 4
      "16,1000,4,3.6,10,\n";  // not counted
  Job job;
  job.samples = 50000;
  const Model model = fit_model(read_runs(parse_table(csv, "runs.csv")), job, {});
  REQUIRE(model.interruptions);
  CHECK(model.interruptions->restarts == 6);
  CHECK(model.interruptions->machine_hours == Approx(4));
  CHECK(model.interruptions->per_machine_hour() == Approx(1.5));
  CHECK_FALSE(fit_model(read_runs(parse_table(csv, "runs.csv")), {}, {}).interruptions);
}

TEST_CASE("Super-linear scaling is found among many runs in no time") {
  std::vector<TrainingRun> runs;
  for (int i = 0; i < 400; ++i) {
    TrainingRun run;
    run.workers = 1 + i % 20;
    run.global_batch = 256;
    run.iteration_s = 10 / run.workers / (run.workers == 7 ? 1.5 : 1);
    runs.push_back(run);
  }
  runs.back().global_batch = 512;
  const auto warnings = fit_model(runs, {}, {}).warnings;
  CHECK(warnings[0] == "super-linear scaling at batch 256: 1 to 7 workers run 10.5 times as fast");
}

TEST_CASE("Parameter servers that saturate are recognised") {
  const auto runs_with = [](const std::string& gpu, double servers, const std::string& model) {
    std::vector<TrainingRun> runs;
    for (const TableRow& row : measurements("cmdare_speed.csv").rows) {
      if (row.cell("gpu")->text != gpu || row.cell("model")->text != model ||
          positive_in(row, "parameter_servers") != servers) {
        continue;
      }
      TrainingRun run;  // K updates a joint step, of batch 1 each
      run.workers = run.global_batch = positive_in(row, "workers");
      run.iteration_s = run.workers / positive_in(row, "median_steps_per_s");
      runs.push_back(run);
    }
    return runs;
  };
  const struct {
    const char* model;
    double servers, workers;
  } known[] = {{"res32", 1, 5}, {"shakebig", 1, 4}, {"shakesmall", 1, 5}, {"res32", 2, 7}};
  for (const auto& one : known) {
    INFO(one.model);
    const auto found = find_saturation(runs_with("p100", one.servers, one.model));
    REQUIRE(found.size() == 1);
    CHECK(found[0].workers == one.workers);
  }
  for (const char* model : {"res15", "res32", "shakebig", "shakesmall"}) {
    CHECK(find_saturation(runs_with("k80", 1, model)).empty());
  }
  std::vector<double> workers, rates;
  for (const TrainingRun& run : runs_with("p100", 1, "res32")) {
    workers.push_back(run.workers);
    rates.push_back(run.global_batch / *run.iteration_s);
  }
  const Knee knee = find_knee(workers, rates, {Curve::kConcave, Direction::kIncreasing, 1, false});
  REQUIRE(knee.index);
  CHECK(workers[*knee.index] >= 4);
  CHECK(workers[*knee.index] <= 5);
}

TEST_CASE("What cannot be fitted is refused with its reason") {
  CHECK(refusal("workers,global_batch,iteration_s,noise\n8,384,1,.7\n16,384,.6,.7\n") ==
        "plumber: error: runs.csv:2:1: noise was measured at one batch alone, 384: its line "
        "against 1/sqrt(B) "
        "needs two\nhint: profile the smallest and the largest batch");
  CHECK(refusal("workers,global_batch,iteration_s\n8,384,1\n16,384,.6\n",
                only(IterationLaw::kScavenger)) ==
        "plumber: error: runs.csv:2:1: 2 different configurations do not determine the iteration "
        "time: "
        "scavenger: needs 3 points that differ in workers and in batch per worker\n"
        "hint: profile the corners: fewest and most workers, smallest and largest batch");
  CHECK(refusal("workers,global_batch,iteration_s,noise,epochs\n8,384,1,.8,10\n8,1024,2,.5,90\n"
                "16,384,1,.9,1\n16,1024,2,.95,1\n")
            .find("the line of epochs gives") != std::string::npos);
  CHECK(refusal("workers,global_batch,epochs\n8,384,1\n") ==
        "plumber: error: runs.csv:2:1: no run has an iteration time\n"
        "hint: give iteration_s, or compute_s and sync_s");
  CHECK(refusal("workers,global_batch,noise\n8,384,7.3\n") ==
        "plumber: error: runs.csv:2:7: noise 7.3 is above 1\n"
        "hint: the column holds the noise divided by the number of workers");
}

TEST_CASE("One finished run suffices to compare, and the assumption is said") {
  const Model model = fit_model(
      read_runs(parse_table("workers,global_batch,iteration_s,noise,epochs\n8,384,1.5,.787,230\n"
                            "8,1024,3.6,.709,\n16,384,.87,.769,\n16,1024,2,.667,\n",
                            "runs.csv")),
      {}, {});
  CHECK(model.epochs->calibrated);
  CHECK(epochs_at(*model.epochs, model.noise, 384) ==
        Approx(230 * noise_at(*model.noise, 384) / .787));
  REQUIRE(model.warnings.size() == 1);
  CHECK(model.warnings[0].find("proportional to noise") != std::string::npos);
}
