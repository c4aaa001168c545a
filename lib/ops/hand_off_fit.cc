// SPDX-License-Identifier: Apache-2.0
#include "ops/hand_off_fit.h"

#include <algorithm>

namespace plumber {
namespace {

constexpr double kLeast = 0.6, kMost = 1.6;
constexpr double kDispatchShare = 0.2;
constexpr double kClose = 0.02;
constexpr int kSteps = 40;

}  // namespace

void fit_hand_off(const Pipeline& pipeline, const Setting& traced, const Machine& machine,
                  const Observed& observed, Costs& costs) {
  if (!costs.hand_off_known || observed.period_s <= 0) return;
  Costs trial = costs;
  trial.think_time_s = observed.think_time_s;
  const auto result = [&](double scale_w, double scale_h) {
    trial.hand_off.scale_w = scale_w;
    trial.hand_off.scale_h = scale_h;
    return evaluate(pipeline, trial, traced, machine);
  };
  const Evaluation plain = result(1, 1);
  if (plain.dispatch_s < kDispatchShare * observed.period_s) return;
  if (observed.cpu_s > 0) {
    const double none_s = result(1, 0).cpu_s;
    if (plain.cpu_s > none_s)
      costs.hand_off.scale_h =
          std::clamp((observed.cpu_s - none_s) / (plain.cpu_s - none_s), kLeast, kMost);
  }
  double low = kLeast, high = kMost;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    (result(middle, costs.hand_off.scale_h).period_s < observed.period_s ? low : high) = middle;
  }
  costs.hand_off.scale_w = (low + high) / 2;
  const double off =
      result(costs.hand_off.scale_w, costs.hand_off.scale_h).period_s / observed.period_s;
  costs.hand_off.scale_clamped = off < 1 - kClose || off > 1 + kClose;
}

}  // namespace plumber
