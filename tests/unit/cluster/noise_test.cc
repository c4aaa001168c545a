// SPDX-License-Identifier: Apache-2.0
#include "cluster/noise.h"

#include "base/error.h"
#include "base/file.h"
#include "catch2_any.h"

using namespace plumber;

namespace {

NoiseResult noise_of_file(const std::string& name, double workers, const NoiseOptions& options) {
  const std::string path = std::string(PLUMBER_TESTDATA_DIR) + "/cluster/" + name;
  return noise_series(read_norms({{name, read_file(path)}}, workers), options);
}

std::string refusal(const std::string& text, std::optional<double> workers = {}) {
  try {
    read_norms({{"norms.csv", text}}, workers);
  } catch (const Error& error) {
    return format(error);
  }
  return "";
}

const std::string kHeader = "step,workers,mean_local_sqr_norm,aggregate_sqr_norm\n";

}  // namespace

TEST_CASE("Noise of one step: gradients (3,4), (1,0), (0,2), (4,2)") {
  const double local = (25. + 1 + 4 + 20) / 4, aggregate = 4 + 4;
  const auto steps = read_norms({{"norms.csv", kHeader + "1,4,12.5,8\n"}});
  CHECK(steps[0].mean_local_sqr_norm == local);
  CHECK(steps[0].aggregate_sqr_norm == aggregate);
  const NoiseResult result = noise_series(steps);
  CHECK(result.noise == Approx(1.5625).epsilon(1e-12));
  CHECK(result.normalized == Approx(0.390625).epsilon(1e-12));
  CHECK_FALSE(result.stable);
}

TEST_CASE("Workers that agree have noise 1, orthogonal ones K") {
  CHECK(noise_of(5, 5) == 1);
  const double k = 8;  // |g_k|^2 = 1; the mean of e_1..e_K has squared norm 1/K
  CHECK(noise_of(1, 1 / k) == Approx(k).epsilon(1e-12));
}

TEST_CASE("McCandlish's and AdaScale's scales are other numbers") {
  auto steps = read_norms({{"norms.csv",
                            "step,workers,mean_local_sqr_norm,aggregate_sqr_norm,"
                            "global_batch\n1,4,12.5,8,128\n"}});
  const GradientMoments moments = gradient_moments(steps[0], 32, 128);
  CHECK(moments.sqr == Approx(6.5).epsilon(1e-12));
  CHECK(moments.trace == Approx(192).epsilon(1e-12));
  const NoisePoint point = noise_series(steps).series[0];
  CHECK(*point.b_simple == Approx(29.538461538).epsilon(1e-9));
  CHECK(*point.adascale_gain == Approx(1.5625).epsilon(1e-12));
}

TEST_CASE("Efficiency of a batch: AdaScale's gain over the scale") {
  const auto efficiency = [](double sqr, double variance, double scale) {
    return adascale_gain(sqr, variance, scale) / scale;
  };
  CHECK(efficiency(1, 2, 1) == 1);
  CHECK(efficiency(1, 2, 2) == Approx(0.75));
  CHECK(efficiency(1, 2, 8) == Approx(0.3));
  CHECK(efficiency(.5, 10, 8) == Approx(0.75));
}

TEST_CASE("Noise of K workers in closed form, by the critical batch") {
  // S = |G|^2, V = tr(Sigma): E|g_k|^2 = S + V/b and E|g~|^2 = S + V/B; phi = V/S = B_simple.
  const double phi = 1192, workers = 8, batch = 384;
  const double noise = noise_of(1 + phi / (batch / workers), 1 + phi / batch);
  CHECK(noise == Approx(6.2944).epsilon(1e-4));
  CHECK(noise / workers == Approx(0.78680).epsilon(1e-4));
}

TEST_CASE("Smoothing is pandas' ewm with adjust") {
  CHECK(smoothed({1, 2, 3}, 0.5, 25).back() == Approx(2.428571).epsilon(1e-6));
  CHECK(smoothed({1, 2, 3, 4, 5}, 0.16, 25).back() == Approx(3.344194).epsilon(1e-6));
  CHECK(smoothed({9, 1, 1}, 0.5, 2).back() == 1);
}

TEST_CASE("Numerator and denominator are smoothed apart") {
  const auto steps = read_norms({{"norms.csv", kHeader + "1,2,4,4\n2,2,2,1\n"}});
  NoiseOptions options;
  options.alpha = 0.5;
  const double local = (2 + 0.5 * 4) / 1.5, aggregate = (1 + 0.5 * 4) / 1.5;
  CHECK(noise_series(steps, options).noise == Approx(local / aggregate).epsilon(1e-12));
}

TEST_CASE("Noise of the published runs settles where their authors say") {
  NoiseOptions options;
  CHECK(noise_of_file("fig6_resnet18_K8.csv", 8, options).stable_at_step == 2500.);
  CHECK(noise_of_file("fig6_resnet18_K12.csv", 12, options).stable_at_step == 2240.);
  CHECK(noise_of_file("fig6_resnet18_K16.csv", 16, options).stable_at_step == 2620.);
  CHECK(noise_of_file("fig6_resnet50_K8.csv", 8, options).stable_at_step == 3020.);
  options.span_steps = 2500;
  CHECK(noise_of_file("fig6_transformer_K8.csv", 8, options).stable_at_step == 7500.);
  options.tolerance = 0.02;
  CHECK(noise_of_file("fig6_transformer_K8.csv", 8, options).stable_at_step == 9800.);
}

TEST_CASE("A new learning rate starts stabilisation anew") {
  std::string text = "step,workers,noise,learning_rate\n";
  for (int step = 0; step <= 4000; step += 10) {
    const double rate = step < 3000 ? 0.1 : 0.01;
    text += std::to_string(step) + ",8,3," + std::to_string(rate) + "\n";
  }
  const NoiseResult result = noise_series(read_norms({{"noise.csv", text}}));
  CHECK(result.restarts_at_step == std::vector<double>{3000});
  CHECK_FALSE(result.stable);
  NoiseOptions shorter;
  shorter.span_steps = 100;
  const NoiseResult again = noise_series(read_norms({{"noise.csv", text}}), shorter);
  CHECK(again.stable);
  CHECK(*again.stable_at_step > 3000);
}

TEST_CASE("The three text forms of the original's logs") {
  const std::string chief = "INFO start\naggregated_norm_sqr 8.0 globalstep 7\n";
  const std::string workers =
      "local_worker_norm_sqr 25 globalstep 7\nlocal_worker_norm_sqr 1 globalstep 7\n"
      "local_worker_norm_sqr 4 globalstep 7\nlocal_worker_norm_sqr 20 globalstep 7\n";
  auto steps = read_norms({{"workers.log", workers}, {"chief.log", chief}});
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].workers == 4);
  CHECK(noise_series(steps).noise == Approx(1.5625));

  steps = read_norms({{"log", "adascale_sum 50 glob_step 7 agg_ADASCALE 8 glob_step 7\n"}}, 4);
  CHECK(noise_series(steps).noise == Approx(1.5625));

  steps = read_norms({{"aggregated_gradient_norm.conf", "7,8.0\n"}, {"workers.log", workers}});
  CHECK(noise_series(steps).noise == Approx(1.5625));
}

TEST_CASE("What cannot be measured is refused with its reason") {
  CHECK(refusal(kHeader + "1,4,12.5,0\n") ==
        "plumber: error: norms.csv:2:10: the aggregated gradient is zero: the noise divides by it\n"
        "hint: leave the step out: it changed no weight");
  CHECK(refusal(kHeader + "1,4,fast,8\n") ==
        "plumber: error: norms.csv:2:5: column 'mean_local_sqr_norm': 'fast' is not a number\n"
        "hint: write it like 0.25 or 1e-3, or leave the field empty");
  CHECK(refusal("step,worker,mean_local_sqr_norm,aggregate_sqr_norm\n1,4,1,1\n") ==
        "plumber: error: norms.csv:1:6: unknown column 'worker'\nhint: did you mean 'workers'? "
        "rename "
        "the column, or leave it out");
  CHECK(refusal("step,mean_local_sqr_norm,aggregate_sqr_norm\n1,1,1\n") ==
        "plumber: error: norms.csv:2:1: no number of workers\nhint: give --workers K");
  CHECK(refusal("x\naggregated_norm_sqr nan globalstep 7\n") ==
        "plumber: error: norms.csv:2:1: the squared norm 'nan' is no number from 0 on\nhint: "
        "training has diverged there: cut the log before it");
  CHECK(refusal(kHeader + "1,4,1e308,1\n") ==
        "plumber: error: norms.csv:2:11: squared norms beyond all measure\nhint: training has "
        "diverged there: cut the log before it");
  CHECK(refusal("adascale_sum 50 glob_step 7 agg_ADASCALE 8 glob_step 7\n") ==
        "plumber: error: norms.csv:1:1: the log sums over workers without saying how many\nhint: "
        "give --workers K");
  CHECK(
      refusal("step,workers,mean_local_sq_norm,aggregate_sqr_norm\n1,4,1,1\n") ==
      "plumber: error: norms.csv:1:1: no column 'mean_local_sqr_norm'\nhint: is it the one called "
      "'mean_local_sq_norm'?");
  CHECK(
      refusal("aggregated_norm_sqr 8.0 globalstep 7\n") ==
      "plumber: error: norms.csv:1:1: no step has both the workers' norms and the aggregated one\n"
      "hint: give the logs of the workers and of their chief together");
}

TEST_CASE("A log whose steps jump beyond all spans is refused, not walked") {
  const auto steps = read_norms({{"norms.csv", kHeader + "1,4,12.5,8\n1e12,4,12.5,8\n"}});
  CHECK_THROWS_WITH(noise_series(steps), "1e+12 steps are too many to compare spans of 500");
}
