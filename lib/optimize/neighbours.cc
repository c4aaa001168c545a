// SPDX-License-Identifier: Apache-2.0
#include "optimize/neighbours.h"

#include <tuple>
#include <utility>

namespace plumber {
namespace {

constexpr std::size_t kMostChoices = 120;  // the work grows with their square
constexpr int kMostSteps = 60;
constexpr double kFaster = 1 - 1e-9;

/// What a candidate costs, most important first.
std::tuple<double, double, double> price(const Candidate& candidate, bool memory_first) {
  if (memory_first) return {candidate.memory_bytes, candidate.edits, candidate.threads};
  return {candidate.edits, candidate.threads, candidate.memory_bytes};
}

}  // namespace

bool is_cheaper(const Candidate& a, const Candidate& b, bool memory_first) {
  return price(a, memory_first) < price(b, memory_first);
}

Neighbours::Neighbours(const Problem& problem, const Choices& choices, double memory_bytes)
    : problem_(problem),
      choices_(choices),
      memory_bytes_(memory_bytes),
      small_(count_choices(choices) <= kMostChoices) {}

std::vector<Neighbours::Move> Neighbours::moves_from(const Decisions& decisions) const {
  std::vector<Move> moves;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const NodeChoices& node = choices_.nodes[id];
    const NodeDecision& now = decisions[id];
    for (int mode = 0; mode < static_cast<int>(node.modes.size()); ++mode) {
      if (mode != now.mode) moves.push_back({id, {mode, now.prefetch, now.cache}});
    }
    if (node.prefetch && !problem_.stock[id].prefetch_above) {
      moves.push_back({id, {now.mode, !now.prefetch, now.cache}});
    }
    if (node.cache_bytes) moves.push_back({id, {now.mode, now.prefetch, !now.cache}});
  }
  return moves;
}

bool Neighbours::fits(const Candidate& candidate) const {
  return candidate.memory_bytes <= memory_bytes_;
}

Candidate Neighbours::fastest_near(Candidate start) const {
  for (int step = 0; small_ && step < kMostSteps; ++step) {
    Candidate best = start;
    for (const Move& move : moves_from(start.decisions)) {
      Decisions decisions = start.decisions;
      decisions[move.node] = move.decision;
      Candidate candidate = candidate_of(problem_, choices_, decisions);
      const bool faster = candidate.period_s < best.period_s * kFaster;
      if (faster && fits(candidate)) best = std::move(candidate);
    }
    if (best.decisions == start.decisions) break;
    start = std::move(best);
  }
  return start;
}

Candidate Neighbours::cheapest_near(Candidate start, double period_s, bool memory_first) const {
  for (int step = 0; small_ && step < kMostSteps; ++step) {
    Candidate best = start;
    for (const Move& move : moves_from(start.decisions)) {
      Decisions decisions = start.decisions;
      decisions[move.node] = move.decision;
      Candidate candidate = candidate_of(problem_, choices_, decisions);
      const bool enough = candidate.period_s <= period_s && fits(candidate);
      if (enough && is_cheaper(candidate, best, memory_first)) best = std::move(candidate);
    }
    if (best.decisions == start.decisions) break;
    start = std::move(best);
  }
  return start;
}

}  // namespace plumber
