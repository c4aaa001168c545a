// SPDX-License-Identifier: Apache-2.0
#include "optimize/neighbours.h"

#include <cmath>
#include <tuple>
#include <utility>

namespace plumber {
namespace {

constexpr std::size_t kSmall = 40;  // single changes; the work grows with their square
constexpr int kMostSteps = 60;
constexpr int kMostJudged = 60'000;      // plans times nodes, in large programs
constexpr std::size_t kMostPlaces = 12;  // at a bottleneck, largest share first
constexpr double kFaster = 1 - 1e-9;

std::size_t count_changes(const Choices& choices) {
  std::size_t count = 0;
  for (const NodeChoices& node : choices.nodes) {
    count += node.modes.size() - 1 + (node.prefetch ? 1 : 0) + (node.cache_bytes ? 1 : 0) +
             (node.disk_cache_bytes ? 1 : 0);
  }
  return count;
}

/// What a candidate costs, most important first.
std::tuple<double, double, double, double, double> price(const Candidate& candidate,
                                                         double memory_step_bytes) {
  const double bytes = candidate.memory_bytes;
  // A file does not make a cache cheaper than one in memory that does the same.
  const double held_bytes = bytes + candidate.disk_bytes;
  const double steps = memory_step_bytes > 0 ? std::floor(held_bytes / memory_step_bytes) : 0;
  return {steps, candidate.edits, candidate.disk_caches, candidate.threads, bytes};
}

}  // namespace

bool is_cheaper(const Candidate& a, const Candidate& b, double memory_step_bytes) {
  return price(a, memory_step_bytes) < price(b, memory_step_bytes);
}

Neighbours::Neighbours(const Problem& problem, const Choices& choices, double memory_bytes)
    : problem_(problem),
      choices_(choices),
      memory_bytes_(memory_bytes),
      small_(count_changes(choices) <= kSmall),
      most_judged_(kMostJudged / static_cast<int>(problem.pipeline->size() + 1)) {}

std::vector<Neighbours::Move> Neighbours::moves_at(const Decisions& decisions, NodeId id) const {
  std::vector<Move> moves;
  const NodeChoices& node = choices_.nodes[id];
  const NodeDecision& now = decisions[id];
  for (int mode = 0; mode < static_cast<int>(node.modes.size()); ++mode) {
    if (mode != now.mode) moves.push_back({id, {mode, now.prefetch, now.cache, now.on_disk}});
  }
  if (node.prefetch && !problem_.stock[id].prefetch_above) {
    moves.push_back({id, {now.mode, !now.prefetch, now.cache, now.on_disk}});
  }
  const bool in_memory = now.cache && !now.on_disk;
  if (node.cache_bytes) moves.push_back({id, {now.mode, now.prefetch, !in_memory, false}});
  if (node.disk_cache_bytes)
    moves.push_back({id, {now.mode, now.prefetch, !now.on_disk, !now.on_disk}});
  return moves;
}

std::vector<NodeId> Neighbours::places(const Candidate& from) const {
  std::vector<NodeId> places;
  if (small_) {
    for (std::size_t i = 0; i < from.decisions.size(); ++i)
      places.push_back(static_cast<NodeId>(i));
    return places;
  }
  for (std::size_t i = 0; i < from.decisions.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (choices_.nodes[id].cache_bytes || choices_.nodes[id].disk_cache_bytes) places.push_back(id);
  }
  const Evaluation now = evaluate(problem_, from.setting);
  if (now.bounds.empty()) return places;
  const std::size_t most = places.size() + kMostPlaces;
  for (const NodeId id : now.bounds.front().nodes) {
    if (moves_at(from.decisions, id).empty()) continue;
    places.push_back(id);
    if (places.size() >= most) break;
  }
  return places;
}

std::vector<Decisions> Neighbours::single_steps(const Candidate& from) const {
  std::vector<Decisions> steps;
  for (const NodeId id : places(from)) {
    for (const Move& move : moves_at(from.decisions, id)) {
      steps.push_back(from.decisions);
      steps.back()[move.node] = move.decision;
    }
  }
  return steps;
}

// A change and one more at the same node or at the one that reads it: what one of them costs a
// thread, the other may take away.
std::vector<Decisions> Neighbours::double_steps(const Decisions& from) const {
  std::vector<Decisions> steps;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    std::vector<NodeId> beside = problem_.consumers[id];
    beside.push_back(id);
    for (const Move& first : moves_at(from, id)) {
      Decisions one = from;
      one[id] = first.decision;
      for (const NodeId place : beside) {
        for (const Move& second : moves_at(one, place)) {
          steps.push_back(one);
          steps.back()[place] = second.decision;
        }
      }
    }
  }
  return steps;
}

Candidate Neighbours::best_of(const std::vector<Decisions>& steps, const Candidate& start,
                              const IsBetter& is_better) const {
  Candidate best = start;
  for (const Decisions& step : steps) {
    Candidate candidate = candidate_of(problem_, choices_, step);
    const bool fits = is_within(problem_, candidate, memory_bytes_);
    if (fits && is_better(candidate, best)) best = std::move(candidate);
  }
  return best;
}

Candidate Neighbours::descend(Candidate start, const IsBetter& is_better) const {
  int judged = 0;
  for (int step = 0; step < kMostSteps || !small_; ++step) {
    const std::vector<Decisions> steps = single_steps(start);
    judged += static_cast<int>(steps.size());
    if (!small_ && judged > most_judged_) break;
    Candidate best = best_of(steps, start, is_better);
    if (small_ && best.decisions == start.decisions) {
      best = best_of(double_steps(start.decisions), start, is_better);
    }
    if (best.decisions == start.decisions) break;
    start = std::move(best);
  }
  return start;
}

// For large programs: takes back one change after another, if that is better.
Candidate Neighbours::drop_edits(Candidate start, const IsBetter& is_better) const {
  int judged = 0;
  for (std::size_t i = 0; i < start.decisions.size() && judged < most_judged_; ++i) {
    const auto id = static_cast<NodeId>(i);
    if (start.decisions[id] == NodeDecision{}) continue;
    Decisions without = start.decisions;
    without[id] = {};
    ++judged;
    start = best_of({without}, start, is_better);
  }
  return start;
}

Candidate Neighbours::fastest_near(const Candidate& start) const {
  return descend(start, [](const Candidate& a, const Candidate& b) {
    return a.period_s < b.period_s * kFaster;
  });
}

Candidate Neighbours::cheapest_near(const Candidate& start, double period_s,
                                    double memory_step_bytes) const {
  const IsBetter cheaper = [&](const Candidate& a, const Candidate& b) {
    return a.period_s <= period_s && is_cheaper(a, b, memory_step_bytes);
  };
  return small_ ? descend(start, cheaper) : drop_edits(start, cheaper);
}

}  // namespace plumber
