// SPDX-License-Identifier: Apache-2.0
// The machine that tf.data's threads run on: cores, disks, Python's lock, and TensorFlow's pool of
// one thread a core, which runs the functions. What waking a thread costs are measured constants
// (ops/hand_off.h); when one has to be woken follows from who sleeps. Threads of the pool that find
// no call spin before they sleep, one of them at a time, as in the pool that TensorFlow takes from
// Eigen.
#pragma once

#include <optional>
#include <random>

#include "ops/cost_model.h"
#include "simulation.h"

namespace plumber::simulated {

/// How much calls of one function differ; the mean stays.
enum class Spread { kNone, kLogNormal, kExponential };

struct HostOptions {
  double cores = 1;
  double usable = 1;  // share of the cores that threads get
  double wake_s = 0;  // until a thread runs again that slept at the end of a buffer
  Spread spread = Spread::kNone;
  unsigned seed = 1;
  std::vector<Disk> disks{};
};

/// The work of one call, element or copy.
struct Work {
  double cpu_s = 0;
  double wait_s = 0;    // asleep, for files or in Python
  bool python = false;  // holds the lock while it works
};

class Host {
 public:
  Host(const HostOptions& options, const HandOff& hand_off);

  Simulation& simulation() { return simulation_; }
  const HostOptions& options() const { return options_; }
  const HandOff& hand_off() const { return hand_off_; }
  double busy_core_s() const { return cores_.work_done(); }

  Simulation::Served work(double cpu_s) { return simulation_.serve(cores_, cpu_s); }
  Simulation::Served read(std::size_t disk, double bytes) {
    return simulation_.serve(*disks_[disk], bytes);
  }
  Task run(Work work);

  /// A call for the pool. `then` is called when it is done.
  struct Call {
    Work work;
    double wake_s = 0, spin_s = 0;  // if a thread has to be woken for it, with spinning before
    bool caller_sleeps = false;     // who called is woken too, whatever the pool does
    std::function<void()> then;
  };
  void submit(Call call);

 private:
  Task pool_thread();
  void hand_over(const Call& call, bool slept);
  Task spinner();

  HostOptions options_;
  HandOff hand_off_;
  Simulation simulation_;
  SharedServer& cores_;
  std::vector<SharedServer*> disks_;
  bool python_held_ = false;
  Gate python_free_, calls_wait_, spins_;
  double spinning_s_ = 0;  // what the thread that spins has before it; 0: none does
  std::deque<Call> calls_;
};

/// What one thread has done, charged to the cores when it next meets another thread.
class Thread {
 public:
  explicit Thread(Host& runs_on) : host(runs_on) {}

  void work(double cpu_s) { owed_s_ += cpu_s, since_call_s += cpu_s, since_buffer_s += cpu_s; }
  /// What handing over costs: no work in between, by which later hand-overs cost more.
  void overhead(double cpu_s) { owed_s_ += cpu_s; }
  /// Pays for all the work since the last time.
  Simulation::Served settle() { return host.work(std::exchange(owed_s_, 0)); }
  /// Takes an element from a buffer or puts one there.
  void hand_over(int components);

  Host& host;
  double since_call_s = 0;    // work since the last call of a function in the pool
  double since_buffer_s = 0;  // work and waiting since the last element was handed over

 private:
  double owed_s_ = 0;
};

/// Draws the size of a node's next call: the same sequence under every plan.
class Draw {
 public:
  Draw(Spread spread, unsigned seed) : spread_(spread), random_(seed) {}
  double operator()();

 private:
  Spread spread_;
  std::minstd_rand random_;
};

}  // namespace plumber::simulated
