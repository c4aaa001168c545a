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
  Trial(const Pipeline& pipeline, const Setting& traced, const Observed& observed, Costs costs)
      : pipeline_(pipeline), traced_(traced), machine_(observed.machine), costs_(std::move(costs)) {
    costs_.think_time_s = observed.think_time_s;
  }

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

// Where `period_at`, which grows, is the observed period.
template <class PeriodAt>
double bisect(double low, double high, double period_s, PeriodAt period_at) {
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    (period_at(middle) < period_s ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

void lower_legacy_handover(const Pipeline& pipeline, const Setting& traced,
                           const Observed& observed, Costs& costs) {
  if (!costs.hand_off_known || observed.period_s <= 0) return;
  Trial trial(pipeline, traced, observed, costs);
  if (trial(1, 1).period_s <= observed.period_s * (1 + kClose)) return;
  double& each_s = costs.hand_off.legacy_handover;
  each_s = bisect(0, each_s, observed.period_s, [&](double tried_s) {
    trial.set_legacy_handover(tried_s);
    return trial(1, 1).period_s;
  });
}

void fit_hand_off(const Pipeline& pipeline, const Setting& traced, const Observed& observed,
                  Costs& costs) {
  if (!costs.hand_off_known || observed.period_s <= 0) return;
  Trial trial(pipeline, traced, observed, costs);
  const Evaluation plain = trial(1, 1);
  // Slower than it was: hand-offs of this machine must be cheaper, however little they matter.
  const bool too_slow = plain.period_s > observed.period_s * (1 + kClose);
  if (plain.dispatch_s < kDispatchShare * observed.period_s && !too_slow) return;
  HandOff& fitted = costs.hand_off;
  const double none_s = trial(1, 0).cpu_s;
  if (observed.cpu_s > 0 && plain.cpu_s > none_s)
    fitted.scale_h = std::clamp((observed.cpu_s - none_s) / (plain.cpu_s - none_s), kLeast, kMost);
  fitted.scale_w = bisect(kLeast, kMost, observed.period_s,
                          [&](double scale_w) { return trial(scale_w, fitted.scale_h).period_s; });
  const double off = trial(fitted.scale_w, fitted.scale_h).period_s / observed.period_s;
  fitted.scale_clamped = off < 1 - kClose || off > 1 + kClose;
}

}  // namespace plumber
