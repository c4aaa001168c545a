// SPDX-License-Identifier: Apache-2.0
#include "optimize/choices.h"

#include <algorithm>
#include <cmath>

#include "ops/hand_off.h"
#include "optimize/cache_choices.h"

namespace plumber {
namespace {

constexpr double kShortCall_s = 200e-6;
constexpr double kHandover_s = 15e-6;  // of one element from thread to thread, at most
constexpr double kSpareCalls = 1.25;   // over what the period asks for: the hedge of a settled plan
constexpr std::size_t kMostLevelled =
    40;                              // nodes; with more of them calls are not chosen one by one
constexpr std::size_t kLarge = 100;  // choices
constexpr double kLargePrefetches = 16;
constexpr double kSmallShare = 0.01;  // of all work: not worth a split of its own

bool reaches(const Function& function, std::vector<std::string> FunctionFacts::*facts) {
  return !(function.facts.*facts).empty();
}

/// Why calls of this node must not run beside each other; empty if they may.
std::string why_not_parallel(const Problem& problem, NodeId id) {
  const Node& node = problem.node(id);
  if (problem.cost(id).python) {
    return "its function is Python: calls hold one lock, so more of them in flight bring nothing";
  }
  const NodeCost& cost = problem.cost(id);
  if (!node.function && cost.work_s < kShortCall_s * cost.elements) {
    return "copying its elements is less work than handing them to another thread";
  }
  if (!node.function) return "";
  const Function& function = *node.function;
  if (function.facts.short_circuit) return "its function only passes elements on: there is no call";
  const bool permitted = problem.options->permissions.contains(Permission::kStatefulParallel);
  // Calls beside each other draw in any order: with a seed that takes away what the seed is for.
  const bool in_order = problem.stock[id].parallelism < 2;
  if (in_order && reaches(function, &FunctionFacts::seeded) && !permitted) {
    return "its random values have a seed (" + function.facts.seeded.front() +
           "), and calls beside each other would give them to other elements; "
           "--allow stateful-parallel";
  }
  const bool as_written_parallel = node.threading != Threading::kSynchronous;
  if (as_written_parallel) return "";
  if (reaches(function, &FunctionFacts::missing) || function.facts.recursive) {
    return "its function cannot be followed to its end, so it may keep state";
  }
  if (reaches(function, &FunctionFacts::stateful) && !permitted) {
    return "its function keeps state (" + function.facts.stateful.front() +
           "), and calls beside each other would change its order; --allow stateful-parallel";
  }
  return "";
}

bool same_way(const NodeSetting& a, const NodeSetting& b) {
  return a.mode == b.mode && a.parallelism == b.parallelism;
}

/// Numbers of calls to choose from: every one up to 8, then growing by a third to a half.
std::vector<int> call_levels(int most) {
  std::vector<int> levels;
  for (int calls = 2; calls < most; calls = calls < 8 ? calls + 1 : calls + calls / 3) {
    levels.push_back(calls);
  }
  if (most >= 2) levels.push_back(most);
  return levels;
}

void add_mode(NodeChoices& choices, const ModeChange& change, Mode mode, double parallelism) {
  const NodeSetting setting{mode, parallelism};
  for (const ModeChoice& known : choices.modes) {
    if (same_way(known.setting, setting)) return;
  }
  choices.modes.push_back({setting, &change});
}

/// Work of what a node runs in its data sets, per element of its own.
double inner_work_s(const Problem& problem, NodeId id) {
  double work_s = 0;
  std::vector<NodeId> todo = problem.node(id).inner;
  while (!todo.empty()) {
    const NodeId at = todo.back();
    todo.pop_back();
    work_s += problem.cost(at).work_s;
    for (const NodeId input : problem.node(at).inputs) todo.push_back(input);
    for (const NodeId inner : problem.node(at).inner) todo.push_back(inner);
  }
  return work_s / std::max(problem.cost(id).elements, 1e-9);
}

/// Sequential again is only a choice where hand-overs weigh: long calls lose nothing beside others,
/// and readers of large elements gain from reading ahead.
bool worth_sequential(const Problem& problem, NodeId id) {
  const NodeCost& cost = problem.cost(id);
  if (!problem.analysis->costs.hand_off_known) return false;
  if (problem.machine.cores < 2) return true;
  if (!problem.node(id).inner.empty()) return inner_work_s(problem, id) < kHandover_s;
  return cost.work_s < kShortCall_s * std::max(cost.calls, 1e-9);
}

void add_modes(const Problem& problem, NodeId id, bool every_level, Choices& choices) {
  NodeChoices& node = choices.nodes[id];
  for (const ModeChange& change : mode_changes(problem.node(id).op)) {
    const bool parallel = is_boundary(problem.node(id), {change.mode});
    if (!parallel) {
      if (worth_sequential(problem, id)) add_mode(node, change, change.mode, 1);
      continue;
    }
    const std::string reason = why_not_parallel(problem, id);
    if (!reason.empty()) {
      choices.rejected.push_back({edit_word(change.edit), problem.node(id).name, reason});
      continue;
    }
    const int most = choices.most_calls[id];
    const bool more =
        !is_boundary(problem.node(id), problem.stock[id]) || most > problem.stock[id].parallelism;
    if (!every_level && most >= 2 && more) add_mode(node, change, change.mode, most);
    if (!every_level) continue;
    for (const int calls : call_levels(most)) add_mode(node, change, change.mode, calls);
  }
}

bool differ_in_calls_only(const NodeChoices& node) {
  if (node.modes.size() != 2) return false;
  const NodeSetting& stock = node.modes.front().setting;
  const NodeSetting& other = node.modes.back().setting;
  return stock.mode == other.mode && stock.parallelism < other.parallelism;
}

bool fewer_calls(const ModeChoice& a, const ModeChoice& b) {
  return a.setting.parallelism < b.setting.parallelism;
}

double total_work(const Problem& problem) {
  double total = 0;
  for (const NodeCost& cost : problem.analysis->costs.nodes) total += cost.work_s;
  return total;
}

bool is_main(const Node& node) { return !node.outer && node.kind != Kind::kWrapper; }

/// A prefetch may stand above the node: it splits work from work. Below a wrapper at the root that
/// is the end of the program. Above a node of little work it would do the same as further below.
bool may_prefetch(const Problem& problem, NodeId id, double least_work_s) {
  const Node& node = problem.node(id);
  if (!is_main(node) || node.kind == Kind::kPrefetch || problem.cost(id).elements <= 0)
    return false;
  if (problem.stock[id].prefetch_above) return true;
  for (const NodeId consumer : problem.consumers[id]) {
    if (problem.node(consumer).kind == Kind::kPrefetch) return false;
  }
  if (problem.consumers[id].size() != 1 || problem.cost(id).work_s >= least_work_s) {
    return problem.consumers[id].size() == 1;
  }
  for (const NodeId input : node.inputs) {
    const double same = 0.999 * problem.cost(input).elements;
    if (is_main(problem.node(input)) && problem.cost(id).elements < same) return true;
  }
  return false;
}

/// True if the calls in flight could take a part of the memory that matters.
bool memory_matters(const Problem& problem, const Choices& choices, double memory_bytes) {
  double bytes = 0;
  std::size_t nodes = 0;
  for (std::size_t i = 0; i < problem.pipeline->size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (mode_changes(problem.node(id).op).empty()) continue;
    bytes += choices.most_calls[id] * problem.analysis->nodes[id].bytes_per_element;
    ++nodes;
  }
  return nodes <= kMostLevelled && bytes > 0.02 * memory_bytes;
}

/// CPU of a root element for the node and all that stands above it.
PerNode<double> cpu_from_here_up(const Problem& problem) {
  PerNode<double> cpu_s(problem.pipeline->size(), 0);
  for (std::size_t i = problem.pipeline->size(); i-- > 0;) {
    const auto id = static_cast<NodeId>(i);
    double above_s = 0;
    for (const NodeId consumer : problem.consumers[id]) {
      above_s = std::max(above_s, cpu_s[consumer]);
    }
    cpu_s[id] = problem.cost(id).cpu_s + above_s;
  }
  return cpu_s;
}

/// Seconds that one call at a time needs for a root element.
double service_s(const Problem& problem, NodeId id) {
  const NodeCost& cost = problem.cost(id);
  if (cost.calls <= 0) return cost.work_s;
  const HandOff& hand_off = problem.analysis->costs.hand_off;
  return cost.work_s +
         cost.calls * parallel_call(hand_off, cost.work_s / cost.calls, 2, false).wall_s;
}

/// The choices of a large program: all that can run parallel does, and prefetches may stand at even
/// shares of the work only.
void thin_out(const Problem& problem, Choices& choices) {
  const double share_s = total_work(problem) / kLargePrefetches;
  double work_s = 0;
  for (std::size_t i = 0; i < choices.nodes.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    NodeChoices& node = choices.nodes[id];
    const auto most = std::max_element(node.modes.begin(), node.modes.end(), fewer_calls);
    if (most != node.modes.begin())
      node.modes = {node.modes.front(), *most};
    else
      node.modes.resize(1);
    node.take_last = node.modes.size() > 1;
    work_s += problem.cost(id).work_s;
    const bool batches = problem.node(id).kind == Kind::kBatch;
    if (work_s < share_s && !batches && !problem.stock[id].prefetch_above) node.prefetch = false;
    if (node.prefetch) work_s = 0;
  }
}

}  // namespace

PerNode<int> most_calls(const Problem& problem) {
  const double cores = std::max(1.0, std::floor(problem.machine.cores + 1e-9));
  const PerNode<double> cpu_s = cpu_from_here_up(problem);
  PerNode<int> most(problem.pipeline->size(), 1);
  for (std::size_t i = 0; i < most.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const NodeCost& cost = problem.cost(id);
    const bool short_calls = cost.calls > 0 && cost.work_s < kShortCall_s * cost.calls;
    most[id] = static_cast<int>(cores >= 2 && short_calls ? 2 * cores : cores);
    const bool reads = !problem.node(id).inner.empty();
    // TensorFlow refuses an interleave with more calls than open files.
    const auto& cycle = problem.node(id).cycle_length;
    if (reads && cycle && *cycle > 0)
      most[id] = static_cast<int>(std::min<std::int64_t>(most[id], *cycle));
    if (reads || cores < 2 || cpu_s[id] <= 0) continue;
    const double needed = std::ceil(kSpareCalls * service_s(problem, id) * cores / cpu_s[id]);
    most[id] = static_cast<int>(std::min<double>(most[id], std::max(2.0, needed)));
  }
  return most;
}

Choices find_choices(const Problem& problem, double memory_bytes) {
  Choices choices;
  choices.nodes = PerNode<NodeChoices>(problem.pipeline->size());
  choices.most_calls = most_calls(problem);
  const double least_work_s = kSmallShare * total_work(problem);
  const bool every_level = memory_matters(problem, choices, memory_bytes);
  for (std::size_t i = 0; i < problem.pipeline->size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    NodeChoices& node = choices.nodes[id];
    node.modes.push_back({problem.stock[id], nullptr});
    if (problem.node(id).outer || memory_bytes < 0) continue;
    add_modes(problem, id, every_level, choices);
    node.take_last = differ_in_calls_only(node);
    node.prefetch = may_prefetch(problem, id, least_work_s);
  }
  if (count_choices(choices) > kLarge) thin_out(problem, choices);
  find_caches(problem, memory_bytes, choices);
  return choices;
}

std::size_t count_choices(const Choices& choices) {
  std::size_t count = 0;
  for (const NodeChoices& node : choices.nodes) {
    count += node.modes.size() > 1 && !node.take_last ? node.modes.size() : 0;
    count += (node.prefetch ? 1 : 0) + (node.cache_bytes ? 1 : 0);
  }
  return count;
}

bool any_choice(const Choices& choices) {
  return std::any_of(choices.nodes.begin(), choices.nodes.end(), [](const NodeChoices& node) {
    return node.modes.size() > 1 || node.prefetch || node.cache_bytes;
  });
}

}  // namespace plumber
