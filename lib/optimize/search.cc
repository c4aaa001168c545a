// SPDX-License-Identifier: Apache-2.0
#include "optimize/search.h"

#include <algorithm>
#include <cmath>

#include "lp/glpk_solver.h"
#include "lp/write_lp.h"
#include "optimize/ledger.h"
#include "optimize/neighbours.h"
#include "optimize/programme_input.h"

namespace plumber {
namespace {

constexpr int kRounds = 4;
constexpr double kUnits = 1000;  // of time in a period
constexpr int kSearchNodes = 3000;

class Search {
 public:
  Search(const Problem& problem, const Choices& choices, const SearchOptions& options)
      : problem_(problem), choices_(choices), options_(options) {}

  SearchResult run() {
    const Candidate stock = candidate_of(problem_, choices_, Decisions(problem_.pipeline->size()));
    found_.push_back(stock);
    if (stock.period_s > 0 && count_choices(choices_) > 0) {
      solve_rounds(stock);
      improve();
    }
    result_.best = preferred();
    result_.evaluation = evaluate(problem_, result_.best.setting);
    if (result_.program.empty()) result_.bound_period_s = result_.best.period_s;
    return std::move(result_);
  }

 private:
  void solve_rounds(const Candidate& stock) {
    Setting around = stock.setting;
    for (int round = 0; round < kRounds; ++round) {
      ProgrammeInput input = programme_input(problem_, choices_, around);
      input.memory_bytes = options_.memory_bytes;
      const auto fastest = solve_once(input);
      if (!fastest) return;
      const Setting next = setting_of(problem_, choices_, *fastest);
      if (next == around && round > 0) return;
      around = next;
    }
  }

  /// Fastest plan of the programme, and the one with the fewest edits near it.
  std::optional<Decisions> solve_once(const ProgrammeInput& input) {
    const double expected_s = found_.front().period_s;
    const Programme programme = build_programme(input, expected_s / kUnits);
    if (result_.program.empty()) result_.program = write_lp(programme.program);
    const SolveLimits limits{kSearchNodes, 1e-6};
    const Solution solution = solve(programme.program, limits);
    if (!fits(solution)) {
      result_.proven = false;
      return std::nullopt;
    }
    if (solution.status != SolveStatus::kOptimal) result_.proven = false;
    result_.bound_period_s = solution.bound * programme.unit_s;
    const Decisions fastest = decisions_of(programme, solution);
    consider(fastest);
    const double period_s = solution.objective * programme.unit_s;
    const double enough_s = std::max(period_s * (1 + kTolerance), options_.period_s);
    const Solution fewest = solve(fewest_edits_programme(programme, input, enough_s).program, limits);
    if (fits(fewest)) consider(decisions_of(programme, fewest));
    return fastest;
  }

  void consider(const Decisions& decisions) {
    Candidate candidate = candidate_of(problem_, choices_, decisions);
    if (candidate.memory_bytes <= options_.memory_bytes) found_.push_back(std::move(candidate));
  }

  double shortest_s() const {
    double shortest = kInfinity;
    for (const Candidate& candidate : found_) shortest = std::min(shortest, candidate.period_s);
    return shortest;
  }

  double enough_s() const { return std::max(shortest_s() * (1 + kTolerance), options_.period_s); }

  /// Tries the neighbours of the fastest plan, then drops edits that bring nothing.
  void improve() {
    const Neighbours neighbours(problem_, choices_, options_.memory_bytes);
    const auto fastest = std::min_element(
        found_.begin(), found_.end(),
        [](const Candidate& a, const Candidate& b) { return a.period_s < b.period_s; });
    found_.push_back(neighbours.fastest_near(*fastest));
    const Candidate best = preferred();
    found_.push_back(neighbours.cheapest_near(best, enough_s(), options_.memory_first));
    found_.push_back(neighbours.cheapest_near(found_[found_.size() - 2], enough_s(), options_.memory_first));
  }

  Candidate preferred() const {
    const double enough = enough_s();
    const Candidate* best = nullptr;
    for (const Candidate& candidate : found_) {
      if (candidate.period_s > enough) continue;
      if (best == nullptr || is_cheaper(candidate, *best, options_.memory_first)) best = &candidate;
    }
    return *best;
  }

  const Problem& problem_;
  const Choices& choices_;
  const SearchOptions& options_;
  std::vector<Candidate> found_;
  SearchResult result_;
};

}  // namespace

Setting setting_of(const Problem& problem, const Choices& choices, const Decisions& decisions) {
  Setting setting = problem.stock;
  for (std::size_t i = 0; i < setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (decisions[id].cache) setting[id].cached = true;
  }
  const PerNode<bool> active = active_nodes(*problem.pipeline, setting);
  for (std::size_t i = 0; i < setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    NodeDecision decision = decisions[id];
    // Below a cache nothing is decided: that is for the first epoch.
    if (!active[id]) decision = {};
    if (decision.cache) decision.mode = 0;
    const NodeSetting& mode =
        choices.nodes[id].modes[static_cast<std::size_t>(decision.mode)].setting;
    setting[id].mode = mode.mode;
    setting[id].parallelism = mode.parallelism;
    const bool boundary = is_boundary(problem.node(id), mode) && !decision.cache;
    setting[id].prefetch_above = (decision.prefetch || problem.stock[id].prefetch_above) && !boundary;
  }
  return setting;
}

Candidate candidate_of(const Problem& problem, const Choices& choices, const Decisions& decisions) {
  Candidate candidate{decisions, setting_of(problem, choices, decisions)};
  candidate.period_s = evaluate(problem, candidate.setting).period_s;
  const PerNode<bool> active = active_nodes(*problem.pipeline, candidate.setting);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const NodeChoices& node = choices.nodes[id];
    const NodeSetting& setting = candidate.setting[id];
    const double bytes = problem.analysis->nodes[id].bytes_per_element;
    const bool added = setting.prefetch_above && !problem.stock[id].prefetch_above;
    if (decisions[id].mode != 0 && active[id] && !decisions[id].cache) ++candidate.edits;
    if (added) ++candidate.edits;
    if (decisions[id].cache) ++candidate.edits;
    if (decisions[id].cache) candidate.memory_bytes += node.cache_bytes.value_or(0);
    if (setting.prefetch_above) {
      candidate.threads += 1;
      candidate.memory_bytes += bytes * prefetch_size(problem, id, candidate.period_s);
    }
    if (node.modes.size() > 1) candidate.memory_bytes += in_flight_bytes(problem, id, setting);
    const bool parallel = is_boundary(problem.node(id), setting);
    if (node.modes.size() > 1 && parallel && active[id]) candidate.threads += setting.parallelism;
  }
  return candidate;
}

SearchResult search(const Problem& problem, const Choices& choices, const SearchOptions& options) {
  return Search(problem, choices, options).run();
}

}  // namespace plumber
