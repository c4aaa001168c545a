// SPDX-License-Identifier: Apache-2.0
#include "optimize/search.h"

#include <algorithm>
#include <cmath>

#include "lp/glpk_solver.h"
#include "lp/write_lp.h"
#include "ops/hand_off.h"
#include "optimize/ledger.h"
#include "optimize/neighbours.h"
#include "optimize/programme_input.h"

namespace plumber {
namespace {

constexpr int kRounds = 4;
constexpr double kUnits = 1000;  // of time in a period

/// Up to so many choices a program is small: it is solved to its optimum in milliseconds.
constexpr std::size_t kSmall = 24;
constexpr int kSmallNodes = 3000;
constexpr double kSmallGap = 1e-6;
constexpr int kLargeNodes = 12000;  // over the number of choices
constexpr double kLargeGap = 0.005;
/// With more choices than this the programme itself takes too long: its relaxation says nothing,
/// and plans are only improved at their bottlenecks.
constexpr std::size_t kMostForProgramme = 300;

/// What a node with only its calls to choose needs at least as stock TensorFlow runs it.
double stock_calls_bound_s(const Problem& problem, NodeId id) {
  const CallsInFlight calls = calls_in_flight(problem.stock[id], problem.machine.cores);
  return parallel_cost(problem.costs.hand_off, problem.node(id), problem.cost(id), calls).own_s;
}

class Search {
 public:
  Search(const Problem& problem, const Choices& choices, const SearchOptions& options)
      : problem_(problem),
        choices_(choices),
        options_(options),
        size_(count_choices(choices)),
        neighbours_(problem, choices, options.memory_bytes) {}

  SearchResult run() {
    const Candidate stock = candidate_of(problem_, choices_, Decisions(problem_.pipeline->size()));
    found_.push_back(stock);
    if (stock.period_s > 0 && any_choice(choices_)) {
      consider(all_parallel());
      if (size_ <= kMostForProgramme) solve_rounds(stock);
      if (size_ > kMostForProgramme) result_.proven = false;
      improve();
    }
    result_.best = preferred();
    result_.fastest_period_s = shortest_s();
    result_.evaluation = evaluate(problem_, result_.best.setting);
    if (result_.program.empty() && result_.proven) result_.bound_period_s = result_.best.period_s;
    return std::move(result_);
  }

 private:
  void solve_rounds(const Candidate& stock) {
    Setting around = stock.setting;
    // Without hand-offs the numbers do not depend on the setting.
    const bool once = options_.quick || !problem_.costs.hand_off_known;
    const int rounds = once ? 1 : size_ <= kSmall ? kRounds : 2;
    for (int round = 0; round < rounds; ++round) {
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
    const SolveLimits limits = solve_limits();
    const Solution solution = solve(programme.program, limits);
    if (!fits(solution)) {
      result_.proven = false;
      return std::nullopt;
    }
    if (solution.status != SolveStatus::kOptimal) result_.proven = false;
    result_.bound_period_s = solution.bound * programme.unit_s;
    const Decisions fastest = with_calls(decisions_of(programme, solution));
    consider(fastest);
    const double period_s = solution.objective * programme.unit_s;
    const double enough = enough_s(period_s);
    if (size_ > kSmall) return fastest;
    const Solution fewest = solve(fewest_edits_programme(programme, input, enough).program, limits);
    if (fits(fewest)) consider(with_calls(decisions_of(programme, fewest)));
    return fastest;
  }

  /// Every node with as many calls in flight as it can use.
  Decisions all_parallel() const {
    Decisions decisions(problem_.pipeline->size());
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      const std::vector<ModeChoice>& modes = choices_.nodes[id].modes;
      for (std::size_t m = 1; m < modes.size(); ++m) {
        const ModeChoice& best = modes[static_cast<std::size_t>(decisions[id].mode)];
        const bool more = modes[m].setting.parallelism > best.setting.parallelism;
        if (more) decisions[id].mode = static_cast<int>(m);
      }
    }
    return decisions;
  }

  SolveLimits solve_limits() const {
    if (size_ <= kSmall) return {kSmallNodes, kSmallGap};
    return {std::max(20, kLargeNodes / static_cast<int>(size_)), kLargeGap};
  }

  /// Nodes that only differ in calls run with all of them in the programme.
  Decisions with_calls(Decisions decisions) const {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (choices_.nodes[id].take_last) decisions[id].mode = 1;
    }
    return decisions;
  }

  /// Takes back calls that the period does not need: each node's own bound tells, since its calls
  /// cost no other node anything.
  Candidate with_needed_calls(const Candidate& start, double period_s) const {
    Decisions decisions = start.decisions;
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      const bool takes_last = choices_.nodes[id].take_last && decisions[id].mode != 0;
      if (!takes_last || !is_boundary(problem_.node(id), problem_.stock[id])) continue;
      if (stock_calls_bound_s(problem_, id) <= period_s) decisions[id].mode = 0;
    }
    Candidate fewer = candidate_of(problem_, choices_, decisions);
    return fewer.period_s <= period_s ? fewer : start;
  }

  void consider(const Decisions& decisions) {
    Candidate candidate = candidate_of(problem_, choices_, decisions);
    if (is_within(problem_, candidate, options_.memory_bytes))
      found_.push_back(std::move(candidate));
  }

  double shortest_s() const {
    double shortest = kInfinity;
    for (const Candidate& candidate : found_) shortest = std::min(shortest, candidate.period_s);
    return shortest;
  }

  /// A target that can be reached is reached, not nearly so.
  double enough_s(double shortest) const {
    const bool reached = options_.period_s > 0 && shortest <= options_.period_s;
    return reached ? options_.period_s : shortest * (1 + kTolerance);
  }

  /// Tries the neighbours of the plans found, then drops edits that bring nothing.
  void improve() {
    const std::size_t from_programme = found_.size();
    for (std::size_t i = 0; i < from_programme; ++i) {
      if (i > 0 && found_[i].decisions == found_[i - 1].decisions) continue;
      Candidate fastest = neighbours_.fastest_near(found_[i]);
      found_.push_back(std::move(fastest));
    }
    const double enough = enough_s(shortest_s());
    for (std::size_t i = found_.size(); i-- > 0;) {
      if (found_[i].period_s > enough) continue;
      Candidate fewer = with_needed_calls(found_[i], enough);
      found_.push_back(std::move(fewer));
    }
    Candidate best = preferred();
    // Down to the last byte first: on the way to less memory a single change may save little.
    if (options_.memory_step_bytes > 0) best = neighbours_.cheapest_near(best, enough, 1);
    found_.push_back(neighbours_.cheapest_near(best, enough, options_.memory_step_bytes));
  }

  Candidate preferred() const {
    const double enough = enough_s(shortest_s());
    const Candidate* best = nullptr;
    for (const Candidate& candidate : found_) {
      if (candidate.period_s > enough) continue;
      if (best == nullptr || is_cheaper(candidate, *best, options_.memory_step_bytes))
        best = &candidate;
    }
    return *best;
  }

  const Problem& problem_;
  const Choices& choices_;
  const SearchOptions& options_;
  std::size_t size_;
  Neighbours neighbours_;
  std::vector<Candidate> found_;
  SearchResult result_;
};

}  // namespace

Setting setting_of(const Problem& problem, const Choices& choices, const Decisions& decisions) {
  Setting setting = problem.stock;
  for (std::size_t i = 0; i < setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!decisions[id].cache) continue;
    setting[id].cached = true;
    setting[id].on_disk = decisions[id].on_disk;
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
    setting[id].prefetch_above =
        (decision.prefetch || problem.stock[id].prefetch_above) && !boundary;
  }
  return setting;
}

Candidate candidate_of(const Problem& problem, const Choices& choices, const Decisions& decisions) {
  Candidate candidate{decisions, setting_of(problem, choices, decisions)};
  const Evaluation evaluation = evaluate(problem, candidate.setting);
  candidate.period_s = evaluation.period_s;
  candidate.cpu_s = evaluation.cpu_s;
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
    if (decisions[id].cache && decisions[id].on_disk) {
      ++candidate.disk_caches;
      candidate.disk_bytes += node.disk_cache_bytes.value_or(0);
    } else if (decisions[id].cache) {
      candidate.memory_bytes += node.cache_bytes.value_or(0);
    }
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

bool is_within(const Problem& problem, const Candidate& candidate, double memory_bytes) {
  const auto& disk = problem.machine.disk_cache;
  return candidate.memory_bytes <= memory_bytes &&
         candidate.disk_bytes <= (disk ? disk->room_bytes : 0);
}

SearchResult search(const Problem& problem, const Choices& choices, const SearchOptions& options) {
  return Search(problem, choices, options).run();
}

}  // namespace plumber
