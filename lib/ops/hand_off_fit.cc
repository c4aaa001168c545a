// SPDX-License-Identifier: Apache-2.0
#include "ops/hand_off_fit.h"

#include <algorithm>
#include <utility>

namespace plumber {
namespace {

constexpr double kLeast = 0.6, kMost = 1.6;
constexpr double kDispatchShare = 0.2;
constexpr double kClose = 0.02;
constexpr int kSteps = 40;

// The program as traced under other scales.
class Trial {
 public:
  Trial(const Pipeline& pipeline, const Setting& traced, const Machine& machine, Costs costs)
      : pipeline_(pipeline), traced_(traced), machine_(machine), costs_(std::move(costs)) {}

  Evaluation operator()(double scale_w, double scale_h) {
    costs_.hand_off.scale_w = scale_w;
    costs_.hand_off.scale_h = scale_h;
    return evaluate(pipeline_, costs_, traced_, machine_);
  }

  void set_legacy_handover(double each_s) { costs_.hand_off.legacy_handover = each_s; }

 private:
  const Pipeline& pipeline_;
  const Setting& traced_;
  const Machine& machine_;
  Costs costs_;
};

// The period grows with scale_w: the scale at which it is the observed one.
double bisect_scale_w(Trial& trial, double scale_h, double period_s) {
  double low = kLeast, high = kMost;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    (trial(middle, scale_h).period_s < period_s ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

void lower_legacy_handover(const Pipeline& pipeline, const Setting& traced,
                           const Observed& observed, Costs& costs) {
  if (!costs.hand_off_known || observed.period_s <= 0) return;
  Costs as_traced = costs;
  as_traced.think_time_s = observed.think_time_s;
  Trial trial(pipeline, traced, observed.machine, std::move(as_traced));
  if (trial(1, 1).period_s <= observed.period_s * (1 + kClose)) return;
  double low = 0, high = costs.hand_off.legacy_handover;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    trial.set_legacy_handover(middle);
    (trial(1, 1).period_s < observed.period_s ? low : high) = middle;
  }
  costs.hand_off.legacy_handover = high;
}

void fit_hand_off(const Pipeline& pipeline, const Setting& traced, const Observed& observed,
                  Costs& costs) {
  if (!costs.hand_off_known || observed.period_s <= 0) return;
  Costs as_traced = costs;
  as_traced.think_time_s = observed.think_time_s;
  Trial trial(pipeline, traced, observed.machine, std::move(as_traced));
  const Evaluation plain = trial(1, 1);
  // Slower than it was: hand-offs of this machine must be cheaper, however little they matter.
  const bool too_slow = plain.period_s > observed.period_s * (1 + kClose);
  if (plain.dispatch_s < kDispatchShare * observed.period_s && !too_slow) return;
  HandOff& fitted = costs.hand_off;
  const double none_s = trial(1, 0).cpu_s;
  if (observed.cpu_s > 0 && plain.cpu_s > none_s)
    fitted.scale_h = std::clamp((observed.cpu_s - none_s) / (plain.cpu_s - none_s), kLeast, kMost);
  fitted.scale_w = bisect_scale_w(trial, fitted.scale_h, observed.period_s);
  const double off = trial(fitted.scale_w, fitted.scale_h).period_s / observed.period_s;
  fitted.scale_clamped = off < 1 - kClose || off > 1 + kClose;
}

}  // namespace plumber
