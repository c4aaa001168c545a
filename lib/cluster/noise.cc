// SPDX-License-Identifier: Apache-2.0
#include "cluster/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace plumber {
namespace {

constexpr std::size_t kLooksPerSpan = 25;
constexpr double kMostLooks = 1e6;
constexpr double kMovedOn = 2;  // times the tolerance
constexpr double kSameLearningRate = 1e-3;
constexpr double kRounding = 0.99;  // norms may be sums in bfloat16

// The series at equal distances, by straight lines between its points.
std::vector<double> resampled(const std::vector<NoisePoint>& series, double from, double distance) {
  std::vector<double> values;
  std::size_t next = 0;
  const double last = series.back().step;
  for (std::size_t i = 0; from + static_cast<double>(i) * distance <= last; ++i) {
    const double step = from + static_cast<double>(i) * distance;
    while (next < series.size() && series[next].step < step) ++next;
    if (next == 0 || series[next].step == step) {
      values.push_back(series[next].noise);
      continue;
    }
    const NoisePoint &a = series[next - 1], &b = series[next];
    values.push_back(a.noise + (b.noise - a.noise) * (step - a.step) / (b.step - a.step));
  }
  return values;
}

double mean_of(const std::vector<double>& values, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += values[i];
  return sum / static_cast<double>(to - from);
}

// Looks at one stretch of constant learning rate, which starts at step `from`.
void judge(NoiseResult& result, const std::vector<NoisePoint>& stretch, double from) {
  const double distance = result.options.span_steps / kLooksPerSpan;
  if ((stretch.back().step - from) / distance > kMostLooks) {
    throw Error(ErrorKind::kInput, "",
                fmt::format("{:.4g} steps are too many to compare spans of {:.4g}",
                            stretch.back().step - from, result.options.span_steps),
                "give a longer --span");
  }
  const std::vector<double> values = resampled(stretch, from, distance);
  result.stable = false;
  result.stable_at_step.reset();
  result.evidence.reset();
  std::size_t held = 0;
  for (std::size_t i = 2 * kLooksPerSpan - 1; i < values.size(); ++i) {
    const std::size_t end = i + 1;
    const double earlier = mean_of(values, end - 2 * kLooksPerSpan, end - kLooksPerSpan);
    const double later = mean_of(values, end - kLooksPerSpan, end);
    const double change = std::abs(later / earlier - 1);
    held = change <= result.options.tolerance ? held + 1 : 0;
    if (result.stable) continue;
    result.evidence = {earlier, later, change, static_cast<double>(held) * distance};
    if (held < kLooksPerSpan / 2) continue;
    result.stable = true;
    result.stable_at_step = from + static_cast<double>(i) * distance;
  }
  if (!result.stable) return;
  const double now = mean_of(values, values.size() - kLooksPerSpan, values.size());
  const double moved = std::abs(now / result.evidence->later_mean - 1);
  if (moved <= kMovedOn * result.options.tolerance) return;
  result.warnings.push_back(
      fmt::format("the noise has moved by {:.0f} % since it settled, to {:.4g}: that was a plateau",
                  100 * moved, now));
}

bool same_rate(const std::optional<double>& a, const std::optional<double>& b) {
  return !a || !b || std::abs(*a / *b - 1) <= kSameLearningRate;
}

void judge_all(NoiseResult& result, const std::vector<NormStep>& steps) {
  std::vector<NoisePoint> stretch;
  double from = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool changed = i > 0 && (!same_rate(steps[i - 1].learning_rate, steps[i].learning_rate) ||
                                   steps[i - 1].workers != steps[i].workers);
    if (changed) {
      result.restarts_at_step.push_back(steps[i].step);
      stretch.clear();
      from = steps[i].step;
    }
    stretch.push_back(result.series[i]);
  }
  judge(result, stretch, from);
  if (result.restarts_at_step.empty()) return;
  result.warnings.push_back(fmt::format(
      "the learning rate or the number of workers changed at step {}: only what follows counts",
      result.restarts_at_step.back()));
}

// The mean of squared norms is no less than the squared norm of the mean.
void warn_of_exchange(NoiseResult& result, const std::vector<NormStep>& steps) {
  const auto below = std::count_if(steps.begin(), steps.end(), [](const NormStep& step) {
    return !step.noise && step.mean_local_sqr_norm < kRounding * step.aggregate_sqr_norm;
  });
  if (below == 0) return;
  result.warnings.push_back(
      fmt::format("at {} of {} steps the mean of the workers' squared norms is below the squared "
                  "norm of their mean, which cannot be: are the two exchanged, or is one a sum?",
                  below, steps.size()));
}

// B_simple and the gain, from the smoothed norms.
void add_other_scales(NoisePoint& point, const NormStep& smooth) {
  const double k = smooth.workers;
  if (k <= 1) return;
  const double sqr =
      std::max((k * smooth.aggregate_sqr_norm - smooth.mean_local_sqr_norm) / (k - 1), 0.0);
  const double variance =
      std::max((smooth.mean_local_sqr_norm - smooth.aggregate_sqr_norm) * k / (k - 1), 0.0);
  if (variance / k + sqr > 0) point.adascale_gain = adascale_gain(sqr, variance, k);
  if (!smooth.global_batch) return;
  const double batch = *smooth.global_batch;
  const GradientMoments moments = gradient_moments(smooth, batch / k, batch);
  if (moments.sqr > 0 && moments.trace > 0) point.b_simple = moments.trace / moments.sqr;
}

}  // namespace

double noise_of(double mean_local_sqr_norm, double aggregate_sqr_norm) {
  return mean_local_sqr_norm / aggregate_sqr_norm;
}

double adascale_gain(double sqr, double variance, double scale) {
  return (variance + sqr) / (variance / scale + sqr);
}

GradientMoments gradient_moments(const NormStep& step, double small_batch, double big_batch) {
  const double gs = step.mean_local_sqr_norm, gb = step.aggregate_sqr_norm;
  return {(big_batch * gb - small_batch * gs) / (big_batch - small_batch),
          (gs - gb) / (1 / small_batch - 1 / big_batch)};
}

std::vector<double> smoothed(const std::vector<double>& values, double alpha, std::size_t window) {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0, weights = 0, weight = 1;
    for (std::size_t back = 0; back <= i && back < window; ++back) {
      sum += weight * values[i - back];
      weights += weight;
      weight *= 1 - alpha;
    }
    result.push_back(sum / weights);
  }
  return result;
}

NoiseResult noise_series(const std::vector<NormStep>& steps, const NoiseOptions& options) {
  NoiseResult result;
  result.options = options;
  std::vector<double> local, aggregate;
  for (const NormStep& step : steps) {
    local.push_back(step.mean_local_sqr_norm);
    aggregate.push_back(step.aggregate_sqr_norm);
  }
  local = smoothed(local, options.alpha, options.window);
  aggregate = smoothed(aggregate, options.alpha, options.window);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    NoisePoint point;
    point.step = steps[i].step;
    point.workers = steps[i].workers;
    point.noise = steps[i].noise ? *steps[i].noise : noise_of(local[i], aggregate[i]);
    point.normalized = point.noise / point.workers;
    NormStep smooth = steps[i];
    smooth.mean_local_sqr_norm = local[i];
    smooth.aggregate_sqr_norm = aggregate[i];
    if (!steps[i].noise) add_other_scales(point, smooth);
    result.series.push_back(point);
  }
  warn_of_exchange(result, steps);
  judge_all(result, steps);
  result.noise = result.series.back().noise;
  result.normalized = result.series.back().normalized;
  return result;
}

}  // namespace plumber
