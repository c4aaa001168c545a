// SPDX-License-Identifier: Apache-2.0
#include "simulation.h"

#include <algorithm>
#include <limits>

namespace plumber::simulated {

void SharedServer::advance(double now_s) {
  virtual_ += (now_s - at_s_) * each_;
  work_done_ += (now_s - at_s_) * each_ * static_cast<double>(jobs_.size());
  at_s_ = now_s;
}

void SharedServer::add(double now_s, double work, std::coroutine_handle<> then) {
  advance(now_s);
  jobs_.push({virtual_ + work, numbered_++, then});
  each_ = speed_(static_cast<double>(jobs_.size()));
}

double SharedServer::next_s() const {
  if (jobs_.empty()) return std::numeric_limits<double>::infinity();
  return at_s_ + std::max(0.0, jobs_.top().done_at - virtual_) / each_;
}

std::coroutine_handle<> SharedServer::take(double now_s) {
  advance(now_s);
  const std::coroutine_handle<> then = jobs_.top().then;
  virtual_ = std::max(virtual_, jobs_.top().done_at);
  jobs_.pop();
  each_ = jobs_.empty() ? 0 : speed_(static_cast<double>(jobs_.size()));
  return then;
}

void Simulation::start(Task thread) {
  ready_.push_back(thread.handle());
  threads_.push_back(std::move(thread));
}

bool Simulation::next_event(double limit_s) {
  double next_s = timers_.empty() ? std::numeric_limits<double>::infinity() : timers_.top().at_s;
  SharedServer* first = nullptr;
  for (SharedServer& server : servers_) {
    const double server_s = server.next_s();
    if (server_s < next_s) next_s = server_s, first = &server;
  }
  if (!(next_s <= limit_s)) {
    if (next_s < std::numeric_limits<double>::infinity()) now_s_ = limit_s;
    return false;
  }
  now_s_ = std::max(now_s_, next_s);
  if (first != nullptr) {
    ready_.push_back(first->take(now_s_));
  } else {
    ready_.push_back(timers_.top().thread);
    timers_.pop();
  }
  return true;
}

void Simulation::run_until(const std::function<bool()>& done, double limit_s) {
  while (!done()) {
    if (ready_.empty() && !next_event(limit_s)) return;
    const std::coroutine_handle<> thread = ready_.front();
    ready_.pop_front();
    thread.resume();
  }
}

}  // namespace plumber::simulated
