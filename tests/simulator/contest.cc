// SPDX-License-Identifier: Apache-2.0
#include "contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/waiting_calls.h"
#include "optimize/ledger.h"
#include "optimize/modes.h"
#include "optimize/programme_input.h"

namespace plumber::simulated {
namespace {

constexpr int kMostBuffer = 512;
constexpr double kMostCalls = 4;  // for each core
constexpr double kSlack = 1.05;   // challengers may start more slowly
constexpr int kConfirmed = 4;     // as long again

bool inline_is_legal(const Node& node) {
  if (!node.function) return false;
  const FunctionFacts& facts = node.function->facts;
  return facts.control_flow.empty() && facts.missing.empty() && !facts.recursive &&
         facts.sharding.empty() && facts.sharding_large.empty();
}

/// What TensorFlow refuses, what would change the elements, and what was measured to lose: copies
/// of less work than handing them over (2 cores: 15 to 35 % slower than a prefetch above the
/// batch).
bool is_legal(const Problem& problem, NodeId id, Mode mode) {
  const Node& node = problem.node(id);
  const bool inline_body = mode == Mode::kInline || mode == Mode::kParallelInline;
  if (inline_body && !inline_is_legal(node)) return false;
  if (!is_parallel(mode)) return true;
  const NodeCost& cost = problem.cost(id);
  if (mode == Mode::kParallelUnbounded && !waits_often(node, cost, problem.costs.hand_off))
    return false;
  if (!node.function && node.inner.empty() && cost.work_s < kShortCall_s * cost.elements)
    return false;
  return why_elements_would_change(problem, id).empty();
}

/// What a program asks for per root element, as events of a simulation.
double calls_of(const Problem& problem) {
  double calls = 0;
  for (std::size_t i = 0; i < problem.pipeline->size(); ++i)
    calls = std::max(calls, std::max(problem.cost(static_cast<NodeId>(i)).calls,
                                     problem.cost(static_cast<NodeId>(i)).elements));
  return std::max(1.0, calls);
}

/// Root elements whose calls are in flight or wait in buffers between the nodes.
double in_flight(const Problem& problem, const Program& program) {
  double roots = 0;
  for (std::size_t i = 0; i < program.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const NodeCost& cost = problem.cost(id);
    if (is_parallel(program.setting[id].mode) && problem.node(id).inner.empty())
      roots += program.setting[id].parallelism / std::max({1.0, cost.calls, cost.elements});
  }
  return roots;
}

/// The calls in flight have begun before a plan is watched, and have filled a batch.
Horizon horizon_of(const Problem& problem, const ContestOptions& options, const Program& plan) {
  const double elements = options.calls / calls_of(problem);
  const double cores = problem.machine.cores;
  const double begun = std::max(2 * in_flight(problem, plan), 4 * cores / calls_of(problem));
  Horizon horizon;
  horizon.warm_up = static_cast<int>(20 + begun);
  horizon.measured = static_cast<int>(std::clamp(elements, 40.0, 1000.0));
  return horizon;
}

}  // namespace

RandomPlans::RandomPlans(const Problem& problem, const Settled& settled, unsigned seed)
    : problem_(problem),
      settled_(settled),
      base_(program_of(problem, settled)),
      ways_(problem.pipeline->size()),
      random_(seed) {
  const PerNode<bool> active = active_nodes(*problem.pipeline, settled.setting);
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = problem.node(id);
    Ways& ways = ways_[id];
    const bool cached = settled.setting[id].cached && node.kind != Kind::kCache;
    if (!active[id] || (node.outer && !node.moved_inside)) continue;
    ways.buffer = node.kind == Kind::kPrefetch;
    // Measured on TensorFlow: more calls that hold Python's lock bring nothing, and a prefetch
    // between a generator and a map in Python 2 %, as much as rates scatter.
    const bool python = problem.cost(id).python;
    ways.prefetch = !python && !node.outer && node.kind != Kind::kPrefetch &&
                    node.kind != Kind::kWrapper && problem.cost(id).elements > 0;
    if (cached || python) continue;
    ways.most_calls = static_cast<int>(kMostCalls * problem.machine.cores);
    if (!node.inner.empty() && node.cycle_length && *node.cycle_length > 0)
      ways.most_calls = std::min(ways.most_calls, static_cast<int>(*node.cycle_length));
    ways.modes.push_back(base_.setting[id].mode);
    for (const ModeChange& change : mode_changes(node.op)) {
      const bool beside = is_boundary(node, {change.mode});
      if ((node.moved_inside && beside) || !is_legal(problem, id, change.mode)) continue;
      ways.modes.push_back(change.mode);
    }
  }
}

int RandomPlans::size(int most) {
  return static_cast<int>(std::lround(std::pow(std::max(1, most), uniform())));
}

void RandomPlans::draw_mode(NodeId id, Program& program) {
  const Ways& ways = ways_[id];
  if (ways.modes.empty()) return;
  NodeSetting& setting = program.setting[id];
  setting.mode = ways.modes[random_() % ways.modes.size()];
  setting.parallelism = is_parallel(setting.mode) ? size(ways.most_calls) : 1;
}

bool RandomPlans::may_prefetch(NodeId id, const Program& program) const {
  return ways_[id].prefetch &&
         (program.setting[id].cached || !is_boundary(problem_.node(id), program.setting[id]));
}

void RandomPlans::draw_buffer(NodeId id, Program& program) {
  NodeSetting& setting = program.setting[id];
  const bool wanted = uniform() < 0.4 || problem_.stock[id].prefetch_above;  // TensorFlow's own
  setting.prefetch_above = may_prefetch(id, program) && wanted;
  if (setting.prefetch_above || ways_[id].buffer) program.buffers[id] = size(kMostBuffer);
}

Program RandomPlans::anew() {
  Program program = base_;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    draw_mode(static_cast<NodeId>(i), program);
    draw_buffer(static_cast<NodeId>(i), program);
  }
  return program;
}

Program RandomPlans::near(Program program) {
  for (int changes = 1 + static_cast<int>(random_() % 3); changes > 0; --changes) {
    const auto id = static_cast<NodeId>(random_() % ways_.size());
    NodeSetting& setting = program.setting[id];
    const double which = uniform();
    if (which < 0.4) {
      draw_mode(id, program);
    } else if (which < 0.7) {
      if (is_parallel(setting.mode) && !ways_[id].modes.empty())
        setting.parallelism = std::clamp(std::round(setting.parallelism * (0.5 + 1.5 * uniform())),
                                         1.0, static_cast<double>(ways_[id].most_calls));
    } else {
      draw_buffer(id, program);
    }
    if (!may_prefetch(id, program)) setting.prefetch_above = false;
    if (setting.prefetch_above) program.buffers[id] = std::max(1, program.buffers[id]);
  }
  return program;
}

double RandomPlans::memory_bytes(const Program& program) const {
  Settled settled = settled_;
  settled.setting = program.setting;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    settled.buffers[id] = problem_.node(id).kind == Kind::kPrefetch ? program.buffers[id] : 0;
  }
  double bytes = planned_memory(problem_, settled).planned_bytes;
  const double period_s = evaluate(problem_, settled).period_s;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!program.setting[id].prefetch_above) continue;
    bytes += (program.buffers[id] - prefetch_size(problem_, id, period_s)) *
             problem_.analysis->nodes[id].bytes_per_element;
  }
  return bytes;
}

Outcome contest(const Problem& problem, const Settled& settled, const ContestOptions& options) {
  const Program plan = program_of(problem, settled);
  const Horizon short_one = horizon_of(problem, options, plan);
  Horizon long_one = short_one;
  long_one.measured *= kConfirmed;
  const Measured glance = simulate(plan, options.host, short_one);
  const Measured watched = simulate(plan, options.host, long_one);

  Outcome outcome;
  outcome.plan_per_s = watched.rate_per_s;
  outcome.busy_cores = watched.busy_cores;
  outcome.predicted_per_s = 1 / evaluate(problem, settled).period_s;
  outcome.plan = describe(plan);

  RandomPlans random(problem, settled, options.seed);
  const double budget = std::max(problem.options->limits.memory_bytes, random.memory_bytes(plan));
  Program best = plan;
  double best_glance = glance.rate_per_s;
  for (int i = 0; i < options.plans; ++i) {
    Program challenger = i % 2 == 0 ? random.anew() : random.near(best);
    if (random.memory_bytes(challenger) > budget) continue;
    Horizon limited = short_one;
    limited.limit_s = kSlack * glance.end_s;
    const Measured seen = simulate(challenger, options.host, limited);
    if (seen.rate_per_s <= best_glance) continue;
    const double rate = simulate(challenger, options.host, long_one).rate_per_s;
    if (rate <= std::max(outcome.best_per_s, outcome.plan_per_s * 1.0001)) {
      outcome.best_per_s = std::max(outcome.best_per_s, rate);
      continue;
    }
    best_glance = seen.rate_per_s;
    outcome.best_per_s = rate;
    best = std::move(challenger);
  }
  outcome.best = describe(best);
  Settled as_best = settled;
  as_best.setting = best.setting;
  outcome.best_predicted_per_s = 1 / evaluate(problem, as_best).period_s;
  outcome.best_program = std::move(best);
  return outcome;
}

std::string describe(const Program& program) {
  std::string text;
  for (std::size_t i = 0; i < program.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const NodeSetting& setting = program.setting[id];
    const Node& node = (*program.pipeline)[id];
    std::string word;
    switch (setting.mode) {
      case Mode::kNone:
        break;
      case Mode::kDispatched:
        word = "dispatched";
        break;
      case Mode::kInline:
        word = "inline";
        break;
      case Mode::kParallel:
        word = fmt::format("parallel {}", setting.parallelism);
        break;
      case Mode::kParallelUnbounded:
        word = fmt::format("own threads {}", setting.parallelism);
        break;
      case Mode::kParallelInline:
        word = fmt::format("pinline {}", setting.parallelism);
        break;
    }
    if (setting.cached) word = "cached";
    if (node.kind == Kind::kPrefetch) word += fmt::format("size {}", program.buffers[id]);
    if (setting.prefetch_above) word += fmt::format(" prefetch {}", program.buffers[id]);
    if (!word.empty()) text += fmt::format(" {}:{};", node.name, word);
  }
  return text;
}

}  // namespace plumber::simulated
