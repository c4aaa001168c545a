// SPDX-License-Identifier: Apache-2.0
// What TensorFlow spends outside node times: handing a function call to its thread pool, and an
// element to another thread. Formulas and constants were calibrated on micro-pipelines and tested
// on 58 edited pipelines (median error 7 %); docs/design.md tells how.
#pragma once

#include <optional>

#include "ops/cost_model.h"

namespace plumber {

/// Wall time and CPU of one call of a parallel op beyond its work, s.
struct ParallelCall {
  double wall_s = 0;
  double cpu_s = 0;
};

/// Calls of one op that may be in flight, the cores they run on, and who runs the function's body.
struct CallsInFlight {
  double parallelism = 1;
  double cores = 1;
  bool inline_body = false;
  bool own_threads = false;
};
CallsInFlight calls_in_flight(const NodeSetting& setting, double cores);

/// Most of a call's CPU is threads that spin before they sleep, and wake again. With more calls in
/// flight than cores they find the next one waiting: four times as many halve it.
ParallelCall parallel_call(const HandOff& hand_off, double work_s, const CallsInFlight& calls);

/// Results keep their order, and a parallel op holds no more of them, finished or not, than it may
/// have calls in flight: one long call keeps the others' results back. Of p calls p / order_loss(p)
/// run on average; two calls are what the constants were measured with.
///
///   order_loss(p) = 1 + held_back log2(p / 2)
///
/// held_back is 0.125 for calls of log-normal length with sigma 0.3, and 0.27 with 0.5 (windows of
/// 4 to 384 calls, simulated: within 4 %). No trace says how much calls differ. What is predicted
/// takes the smaller number, so that no gain is promised that calls much alike would not bring;
/// calls are chosen by the larger one.
constexpr double kHeldBackAtLeast = 0.125;
constexpr double kHeldBackAtMost = 0.27;
double order_loss(double calls, double held_back);

/// True if a call spends much of its time neither on a core nor in the queue for one: it waits for
/// a file, or sleeps in Python. It holds a thread of TensorFlow's pool meanwhile, which has one for
/// each core.
bool calls_wait(const HandOff& hand_off, const NodeCost& cost);

/// True if the node's results keep their order and its calls differ in length: copies are alike.
bool waits_for_order(const Node& node);

/// Calls of a parallel op (a batch has one an element), s per root element.
struct ParallelCost {
  double serial_s = 0;    // one call after the other
  double own_s = 0;       // that over the calls in flight
  double dispatch_s = 0;  // of own_s, handing over
  double cpu_s = 0;       // beyond the work
  double call_cpu_s = 0;  // of one call, with its work
};
ParallelCost parallel_cost(const HandOff& hand_off, const Node& node, const NodeCost& cost,
                           const CallsInFlight& calls);

/// Handing one element of the node over to another thread, on a side with x seconds of work an
/// element. A block of elements is handed over as a whole.
double element_handover_s(const HandOff& hand_off, const Node& node, double x_s, double block = 1);

/// Elements that an interleave takes from a data set before it goes to the next one.
double block_of(const Node& node);

/// What running a function takes on its caller's thread, if its ops do next to nothing, s a call.
double inline_call_s(const Function& function);

/// The machine's constants where the trace has them, built-in ones elsewhere.
HandOff hand_off_of(const std::optional<Calibration>& calibration);

/// All zero: for traces whose node times hold the hand-off already (dialect opstats).
HandOff no_hand_off();

}  // namespace plumber
