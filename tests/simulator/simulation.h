// SPDX-License-Identifier: Apache-2.0
// Discrete-event simulation of threads. A thread is a coroutine that works on shared cores, sleeps,
// and waits at gates; time jumps from event to event. Nothing here knows of tf.data.
//
//   Cores are shared as by a fair scheduler: n runnable threads on N cores run at speed
//   min(1, N / n) each. A disk is shared likewise: n requests get rate(n) / n each.
#pragma once

#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace plumber::simulated {

/// What a thread runs: the thread itself, or a part of it that it awaits. Starts when it is awaited
/// (Simulation::start for a thread).
class Task {
 public:
  struct promise_type {
    std::coroutine_handle<> caller = std::noop_coroutine();

    struct ToCaller {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<promise_type> done) const noexcept {
        return done.promise().caller;
      }
      void await_resume() const noexcept {}
    };

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    ToCaller final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  std::coroutine_handle<> handle() const { return handle_; }
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) const noexcept {
    handle_.promise().caller = caller;
    return handle_;
  }
  void await_resume() const noexcept {}

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// Jobs that share a server; all run at the same speed, which depends on how many there are.
class SharedServer {
 public:
  /// speed(n): work a second that each of n jobs gets done.
  explicit SharedServer(std::function<double(double n)> speed) : speed_(std::move(speed)) {}

  void add(double now_s, double work, std::coroutine_handle<> then);
  /// When the next job is done; infinity: there is none.
  double next_s() const;
  /// Takes out that job.
  std::coroutine_handle<> take(double now_s);
  double work_done() const { return work_done_; }

 private:
  struct Job {
    double done_at;  // of virtual_, the work that a job has got since the start of time
    std::size_t number;
    std::coroutine_handle<> then;
    bool operator<(const Job& other) const {
      return std::pair(other.done_at, other.number) < std::pair(done_at, number);
    }
  };

  void advance(double now_s);

  std::function<double(double n)> speed_;
  std::priority_queue<Job> jobs_;
  double virtual_ = 0, at_s_ = 0, each_ = 0, work_done_ = 0;
  std::size_t numbered_ = 0;
};

class Simulation {
 public:
  Simulation() = default;
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  double now_s() const { return now_s_; }

  /// A thread that runs until the simulation is destroyed, or its end.
  void start(Task thread);

  /// Lets events happen until `done` says so, `limit_s` is reached, or nothing is left to happen.
  void run_until(const std::function<bool()>& done, double limit_s);

  SharedServer& add_server(std::function<double(double n)> speed) {
    return servers_.emplace_back(std::move(speed));
  }

  void resume_soon(std::coroutine_handle<> thread) { ready_.push_back(thread); }

  struct Sleep {
    Simulation& simulation;
    double seconds;
    bool await_ready() const noexcept { return !(seconds > 0); }
    void await_suspend(std::coroutine_handle<> thread) const {
      simulation.timers_.push({simulation.now_s_ + seconds, simulation.numbered_++, thread});
    }
    void await_resume() const noexcept {}
  };
  Sleep sleep(double seconds) { return {*this, seconds}; }

  struct Served {
    Simulation& simulation;
    SharedServer& server;
    double work;
    bool await_ready() const noexcept { return !(work > 0); }
    void await_suspend(std::coroutine_handle<> thread) const {
      server.add(simulation.now_s_, work, thread);
    }
    void await_resume() const noexcept {}
  };
  Served serve(SharedServer& server, double work) { return {*this, server, work}; }

  /// The same without waiting for it: threads that spin beside the one that matters.
  void serve_beside(SharedServer& server, double work) {
    if (work > 0) server.add(now_s_, work, std::noop_coroutine());
  }

 private:
  struct Timer {
    double at_s;
    std::size_t number;
    std::coroutine_handle<> thread;
    bool operator<(const Timer& other) const {
      return std::pair(other.at_s, other.number) < std::pair(at_s, number);
    }
  };

  bool next_event(double limit_s);

  double now_s_ = 0;
  std::size_t numbered_ = 0;
  std::deque<std::coroutine_handle<>> ready_;
  std::priority_queue<Timer> timers_;
  std::deque<SharedServer> servers_;  // their places stay
  std::vector<Task> threads_;
};

/// Where threads wait for others; each wake lets the one go that waits longest.
class Gate {
 public:
  explicit Gate(Simulation& simulation) : simulation_(simulation) {}

  struct Wait {
    Gate& gate;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> thread) const { gate.waiting_.push_back(thread); }
    void await_resume() const noexcept {}
  };
  Wait wait() { return {*this}; }

  void wake_one() {
    if (waiting_.empty()) return;
    simulation_.resume_soon(waiting_.front());
    waiting_.pop_front();
  }

 private:
  Simulation& simulation_;
  std::deque<std::coroutine_handle<>> waiting_;
};

}  // namespace plumber::simulated
