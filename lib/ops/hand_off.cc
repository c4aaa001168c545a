// SPDX-License-Identifier: Apache-2.0
#include "ops/hand_off.h"

#include <algorithm>
#include <cmath>

namespace plumber {
namespace {

// Calls with more work before them find their threads in a deeper sleep.
double grown(double base_s, double deep_s, double tau_s, double x_s) {
  return base_s + (deep_s - base_s) * (1 - std::exp(-x_s / tau_s));
}

constexpr double kParallelTau_s = 40e-6;
constexpr double kParallelWallGrowth_s = 60e-6;
constexpr double kParallelCpuGrowth_s = 25e-6;
constexpr double kSingleCpu_s = 52e-6;
constexpr double kSingleCpuGrowth_s = 20e-6;
constexpr double kSingleWallGrowth = 0.6;  // of w1 - w0
// Measured with 2 to 32 calls of 5 to 600 us on 2 cores: 38, 27, 21, 19, 16 us of CPU a call.
constexpr double kSpinningFalls = 0.45;
constexpr double kLeastSpinning = 0.4;

/// Of the CPU beyond a call's work, what is left where calls wait for cores and not the reverse.
double spinning_share(const CallsInFlight& calls) {
  const double waiting = calls.parallelism / std::max(1.0, calls.cores);
  return waiting <= 1 ? 1 : std::max(kLeastSpinning, std::pow(waiting, -kSpinningFalls));
}

}  // namespace

double dispatch_latency_s(const HandOff& h, double x_s) {
  return h.scale_w * grown(h.w0, h.w1, h.tau, x_s);
}

double dispatch_cpu_s(const HandOff& h, double x_s) {
  return h.scale_h * grown(h.h0, h.h1, h.tau, x_s);
}

double handover_s(const HandOff& h, double x_s) { return std::min(h.cmax, h.c0 + h.c1 * x_s); }

double block_of(const Node& node) {
  const std::int64_t length = node.kind == Kind::kInterleave ? node.block_length.value_or(1) : 1;
  return static_cast<double>(std::max<std::int64_t>(1, length));
}

double element_handover_s(const HandOff& h, const Node& node, double x_s, double block) {
  const double each_s = handover_s(h, x_s) / block + h.component * node.components;
  // Readers of a legacy interleave hand over through buffers of an element or two, and sleep at
  // each of them.
  const bool legacy = node.op.starts_with("LegacyParallelInterleave");
  return legacy ? std::max(each_s, h.legacy_handover) : each_s;
}

// Chains of maps with 3, 5 and 11 nodes a function (constants too), TensorFlow 2.21: within 3 %.
double inline_call_s(const Function& function) {
  constexpr double kCall_s = 0.31e-6, kOp_s = 0.04e-6;
  return kCall_s + kOp_s * function.facts.ops;
}

CallsInFlight calls_in_flight(const NodeSetting& setting, double cores) {
  return {setting.parallelism, cores, setting.mode == Mode::kParallelInline,
          setting.mode == Mode::kParallelUnbounded};
}

// Opstats has no hand-off: there calls were counted as they ran.
bool calls_wait(const HandOff& h, const NodeCost& cost) {
  constexpr double kWorks = 0.9;
  return h.wp > 0 && cost.calls > 0 && cost.cpu_s < kWorks * cost.work_s;
}

namespace {

double calls_at_once(const HandOff& h, const NodeCost& cost, const CallsInFlight& calls) {
  const bool pool_binds = calls_wait(h, cost) && !calls.own_threads;
  const double most =
      pool_binds ? std::min(calls.parallelism, std::floor(calls.cores)) : calls.parallelism;
  return std::max(1.0, most);
}

}  // namespace

double order_loss(double calls, double held_back) {
  return calls > 2 ? 1 + held_back * std::log2(calls / 2) : 1;
}

bool waits_for_order(const Node& node) { return node.function && node.deterministic; }

ParallelCost parallel_cost(const HandOff& h, const Node& node, const NodeCost& cost,
                           const CallsInFlight& calls) {
  const double work_s = cost.calls > 0 ? cost.work_s / cost.calls : cost.work_s;
  const ParallelCall call = parallel_call(h, work_s, calls);
  double beside = calls_at_once(h, cost, calls);
  // How much waits differ no trace says: alike, they hold nothing back.
  const bool alike = calls.own_threads && calls_wait(h, cost);
  if (waits_for_order(node) && !alike)
    beside = std::min(beside, calls.parallelism / order_loss(calls.parallelism, kHeldBackAtLeast));
  ParallelCost all;
  all.serial_s = cost.work_s + cost.calls * call.wall_s;
  all.own_s = all.serial_s / beside;
  all.dispatch_s = cost.calls * call.wall_s / beside;
  all.cpu_s = cost.calls * call.cpu_s;
  if (node.kind == Kind::kBatch) all.cpu_s += h.cold_copy * cost.work_s;
  all.call_cpu_s = work_s + call.cpu_s;
  return all;
}

ParallelCall parallel_call(const HandOff& h, double work_s, const CallsInFlight& calls) {
  if (calls.parallelism < 2) {
    const double growth = 1 - std::exp(-work_s / h.tau);
    return {h.scale_w * (h.p1 + kSingleWallGrowth * (h.w1 - h.w0) * growth),
            h.scale_h * (kSingleCpu_s + kSingleCpuGrowth_s * growth)};
  }
  const double growth = 1 - std::exp(-work_s / kParallelTau_s);
  return {h.scale_w * ((calls.inline_body ? h.wp_inline : h.wp) + kParallelWallGrowth_s * growth),
          spinning_share(calls) * h.scale_h *
              ((calls.inline_body ? h.hp_inline : h.hp) + kParallelCpuGrowth_s * growth)};
}

HandOff hand_off_of(const std::optional<Calibration>& calibration) {
  HandOff h;
  if (!calibration) return h;
  const auto take = [&](double& target, double measured) {
    if (measured > 0) target = measured, h.calibrated = true;
  };
  const Calibration& c = *calibration;
  take(h.w0, c.dispatch_base_s);
  take(h.w1, c.dispatch_deep_s);
  take(h.tau, c.dispatch_tau_s);
  take(h.h0, c.dispatch_cpu_base_s);
  take(h.h1, c.dispatch_cpu_deep_s);
  take(h.k0, c.node_overcount_s);
  take(h.kop, c.node_overcount_op_s);
  take(h.kpm, c.parallel_overcount_s);
  take(h.wp, c.parallel_wall_s);
  take(h.wp_inline, c.parallel_inline_wall_s);
  take(h.hp, c.parallel_cpu_s);
  take(h.hp_inline, c.parallel_inline_cpu_s);
  take(h.c0, c.handover_base_s);
  take(h.c1, c.handover_slope);
  take(h.cmax, c.handover_max_s);
  return h;
}

HandOff no_hand_off() {
  HandOff h;
  h.w0 = h.w1 = h.h0 = h.h1 = h.k0 = h.kop = h.kpm = h.kpm_many = 0;
  h.p1 = h.wp = h.wp_inline = h.hp = h.hp_inline = h.runner = h.c0 = h.c1 = h.cmax = 0;
  h.component = h.legacy_handover = h.cold_copy = 0;
  h.scale_w = h.scale_h = 0;
  return h;
}

}  // namespace plumber
