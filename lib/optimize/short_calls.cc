// SPDX-License-Identifier: Apache-2.0
#include "optimize/short_calls.h"

#include <algorithm>

#include "ops/hand_off.h"

namespace plumber {
namespace {

constexpr std::size_t kMostChoices = 300;  // each is judged by the whole cost model

bool is_short_call(const Problem& problem, NodeId id, const NodeSetting& setting) {
  const NodeCost& cost = problem.cost(id);
  if (!is_parallel(setting.mode) || cost.calls <= 0) return false;
  const double work_s = cost.work_s / cost.calls;
  return work_s < parallel_call(problem.costs.hand_off, work_s, {2, problem.machine.cores}).cpu_s;
}

/// The node inline: alone, with a prefetch above it, and with one below it.
std::vector<Decisions> inline_decisions(const Problem& problem, const Choices& choices,
                                        const Decisions& from, NodeId id) {
  const std::vector<ModeChoice>& modes = choices.nodes[id].modes;
  const auto is_inline = [](const ModeChoice& mode) { return mode.setting.mode == Mode::kInline; };
  const auto mode = std::ranges::find_if(modes, is_inline);
  if (mode == modes.end()) return {};
  Decisions alone = from;
  alone[id].mode = static_cast<int>(mode - modes.begin());
  std::vector<Decisions> found = {alone};
  std::vector<NodeId> places = problem.node(id).inputs;
  places.insert(places.begin(), id);
  for (const NodeId place : places) {
    if (!choices.nodes[place].prefetch || from[place].prefetch) continue;
    found.push_back(alone);
    found.back()[place].prefetch = true;
  }
  return found;
}

}  // namespace

void move_short_calls(const Problem& problem, const Choices& choices, double memory_bytes,
                      SearchResult& found) {
  if (count_choices(choices) > kMostChoices) return;
  const double enough_s = found.fastest_period_s * (1 + kTolerance);
  for (std::size_t i = 0; i < problem.pipeline->size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!is_short_call(problem, id, found.best.setting[id])) continue;
    for (const Decisions& decisions :
         inline_decisions(problem, choices, found.best.decisions, id)) {
      Candidate other = candidate_of(problem, choices, decisions);
      if (other.period_s > enough_s || !is_within(problem, other, memory_bytes)) continue;
      if (other.cpu_s >= found.best.cpu_s) continue;
      found.best = std::move(other);
      found.evaluation = evaluate(problem, found.best.setting);
      break;
    }
  }
}

}  // namespace plumber
