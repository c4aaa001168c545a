// SPDX-License-Identifier: Apache-2.0
// SGD noise over the steps of a run (Scavenger, Eq. 2):
//
//   gamma = E[(1/K) sum_k |g_k|^2] / E[|g~|^2]      1 when all workers agree, K when none do
//   normalised: gamma / K
//
// E[] smooths numerator and denominator apart and divides then (ratio of means): an exponentially
// weighted mean over the last `window` steps, weights (1 - alpha)^i, i steps back, which sum to 1.
//
// Noise rises at the start and then settles. It is `stable` at the first step where the means over
// two consecutive spans of `span_steps` differ by at most `tolerance`, and have done so for half a
// span. The series is looked at 25 times a span. A new learning rate starts this anew.
//
// The same norms give two other quantities, not to be mixed up with gamma: McCandlish's critical
// batch B_simple = tr(Sigma) / |G|^2 in samples, and AdaScale's gain r in 1..K.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/norm_log.h"

namespace plumber {

struct NoiseOptions {
  double alpha = 0.05;
  std::size_t window = 25;  // logged steps
  double span_steps = 500;
  double tolerance = 0.05;
};

struct NoisePoint {
  double step = 0;
  double workers = 0;
  double noise = 0;                     // smoothed gamma
  double normalized = 0;                // over K
  std::optional<double> b_simple;       // samples; needs global_batch and K > 1
  std::optional<double> adascale_gain;  // needs K > 1
};

/// The two spans that the verdict rests on.
struct NoiseEvidence {
  double earlier_mean = 0;
  double later_mean = 0;
  double change = 0;      // |later / earlier - 1|
  double held_steps = 0;  // how long it has been within the tolerance
};

struct NoiseResult {
  std::vector<NoisePoint> series;
  double noise = 0;  // at the last step
  double normalized = 0;
  bool stable = false;
  std::optional<double> stable_at_step;
  std::optional<NoiseEvidence> evidence;  // none when the log is shorter than two spans
  std::vector<double> restarts_at_step;   // where the learning rate changed
  NoiseOptions options;
  std::vector<std::string> warnings;
};

/// gamma of one step, unsmoothed.
double noise_of(double mean_local_sqr_norm, double aggregate_sqr_norm);

/// McCandlish: |G|^2 = (Bb Gb - Bs Gs) / (Bb - Bs), tr(Sigma) = (Gs - Gb) / (1/Bs - 1/Bb), with the
/// mean squared norm Gs at the small batch Bs and Gb at the big one.
struct GradientMoments {
  double sqr = 0;    // |G|^2
  double trace = 0;  // tr(Sigma), of one sample
};
GradientMoments gradient_moments(const NormStep& step, double small_batch, double big_batch);

/// AdaScale: (var + sqr) / (var / s + sqr), 1..s, of `scale` s workers or batches; Pollux's
/// statistical efficiency is this over s.
double adascale_gain(double sqr, double variance, double scale);

/// Exponentially weighted mean of the last `window` values, at each of them.
std::vector<double> smoothed(const std::vector<double>& values, double alpha, std::size_t window);

NoiseResult noise_series(const std::vector<NormStep>& steps, const NoiseOptions& options = {});

}  // namespace plumber
