// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <algorithm>
#include <cmath>

#include "ops/hand_off.h"

namespace plumber::simulated {
namespace {

// Of the CPU for waking a thread, what stays when it finds the next call waiting.
constexpr double kAwake = 0.4;
constexpr double kSigma = 0.5;  // of the logarithm of a call's work

}  // namespace

Host::Host(const HostOptions& options, const HandOff& hand_off)
    : options_(options),
      hand_off_(hand_off),
      cores_(simulation_.add_server(
          [cores = options.cores * options.usable](double n) { return std::min(1.0, cores / n); })),
      python_free_(simulation_),
      calls_wait_(simulation_),
      spins_(simulation_) {
  for (const Disk& disk : options.disks) {
    disks_.push_back(&simulation_.add_server(
        [curve = disk.curve](double n) { return disk_rate(curve, n) / n; }));
  }
  const int threads = std::max(1, static_cast<int>(options.cores));
  for (int i = 0; i < threads; ++i) simulation_.start(pool_thread());
  simulation_.start(spinner());
}

Task Host::run(Work work) {
  if (work.python) {
    while (python_held_) co_await python_free_.wait();
    python_held_ = true;
  }
  co_await this->work(work.cpu_s);
  if (work.python) {
    python_held_ = false;
    python_free_.wake_one();
  }
  co_await simulation_.sleep(work.wait_s);
}

void Host::submit(Call call) {
  calls_.push_back(std::move(call));
  calls_wait_.wake_one();
}

void Host::hand_over(const Call& call, bool slept) {
  simulation_.serve_beside(cores_, kAwake * call.spin_s);
  if (!slept || spinning_s_ > 0) return;
  spinning_s_ = (1 - kAwake) * call.spin_s;
  spins_.wake_one();
}

Task Host::spinner() {
  for (;;) {
    while (!(spinning_s_ > 0)) co_await spins_.wait();
    co_await work(spinning_s_);
    spinning_s_ = 0;
  }
}

Task Host::pool_thread() {
  for (;;) {
    bool slept = false;
    while (calls_.empty()) {
      slept = true;
      co_await calls_wait_.wait();
    }
    const Call call = std::move(calls_.front());
    calls_.pop_front();
    hand_over(call, slept);
    if (slept || call.caller_sleeps) co_await simulation_.sleep(call.wake_s);
    if (call.work.python || call.work.wait_s > 0)
      co_await run(call.work);
    else
      co_await work(call.work.cpu_s);
    call.then();
  }
}

void Thread::hand_over(int components) {
  const HandOff& h = host.hand_off();
  overhead(handover_s(h, std::exchange(since_buffer_s, 0)) + h.component * components);
}

double Draw::operator()() {
  if (spread_ == Spread::kNone) return 1;
  const double u = std::generate_canonical<double, 30>(random_);
  if (spread_ == Spread::kExponential) return -std::log(1 - u);
  const double angle = 2 * 3.14159265358979 * std::generate_canonical<double, 30>(random_);
  const double normal = std::sqrt(-2 * std::log(1 - u)) * std::cos(angle);
  return std::exp(kSigma * normal - kSigma * kSigma / 2);
}

}  // namespace plumber::simulated
