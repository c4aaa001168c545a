// SPDX-License-Identifier: Apache-2.0
#include "optimize/choices.h"

#include <algorithm>
#include <cmath>

#include "ops/waiting_calls.h"
#include "optimize/cache_choices.h"
#include "optimize/calls.h"
#include "optimize/fused_pairs.h"
#include "optimize/seeded_order.h"

namespace plumber {
namespace {

constexpr double kHandover_s = 15e-6;  // of one element from thread to thread, at most
constexpr std::size_t kMostLevelled =
    40;                              // nodes; with more of them calls are not chosen one by one
constexpr std::size_t kLarge = 100;  // choices
constexpr double kLargePrefetches = 16;
constexpr double kLarge_bytes = 400e3;  // of an element: 100,000 numbers, from which kernels share
constexpr double kSmallShare = 0.01;    // of all work: not worth a split of its own
constexpr double kRoomForReading = 0.75;  // of a period with all cores busy

bool reaches(const Function& function, std::vector<std::string> FunctionFacts::*facts) {
  return !(function.facts.*facts).empty();
}

/// Why calls of this node must not run beside each other; empty if they may.
std::string why_not_parallel(const Problem& problem, NodeId id) {
  const Node& node = problem.node(id);
  if (problem.cost(id).python && !waits_often(problem, id)) {
    return "its function is Python: calls hold one lock, so more of them in flight bring nothing";
  }
  if (cycle_is_computed(node)) {
    return "its cycle_length is computed when the program runs, and may be less than the calls";
  }
  if (copies_little(node, problem.cost(id))) {
    return "copying its elements is less work than handing them to another thread";
  }
  if (node.function && node.function->facts.short_circuit) {
    return "its function only passes elements on: there is no call";
  }
  return why_elements_would_change(problem, id);
}

bool runs_body_inline(Mode mode) { return mode == Mode::kInline || mode == Mode::kParallelInline; }

/// Why its function must not run on the thread that asks for the element, or would lose by it;
/// empty if it may.
std::string why_not_inline(const Problem& problem, NodeId id) {
  const FunctionFacts& facts = problem.node(id).function->facts;
  if (!facts.control_flow.empty()) {
    return "its function reaches control flow (" + facts.control_flow.front() +
           "), which TensorFlow does not run inline";
  }
  if (!facts.missing.empty() || facts.recursive) {
    return "its function cannot be followed to its end, so it may reach control flow";
  }
  const std::string kernel = sharding_kernel(problem, id);
  if (kernel.empty() || problem.options->permissions.contains(Permission::kIntraOp)) return "";
  return kernel +
         " shares its work with other threads and would wait for them on this one; --allow "
         "intra-op";
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
  for (const NodeId at : all_below(*problem.pipeline, problem.node(id).inner))
    work_s += problem.cost(at).work_s;
  return work_s / std::max(problem.cost(id).elements, 1e-9);
}

/// Inline only pays where handing a call over weighs against its work.
bool worth_inline(const Problem& problem, NodeId id) {
  const Node& node = problem.node(id);
  const NodeCost& cost = problem.cost(id);
  if (!node.function || cost.calls <= 0 || cost.python) return false;
  return problem.costs.hand_off_known && cost.work_s < kShortCall_s * cost.calls;
}

double total_work(const Problem& problem) {
  double total = 0;
  for (const NodeCost& cost : problem.costs.nodes) total += cost.work_s;
  return total;
}

/// Readers as one thread again, the one that asks for their elements: worth a choice where handing
/// those over is more work than reading them, or, beyond two cores, a part of all work that
/// matters. That thread must have room for it. Who waits for files gains from reading ahead.
bool worth_one_reader(const Problem& problem, NodeId id, double all_work_s) {
  const double read_s = inner_work_s(problem, id), elements = problem.cost(id).elements;
  if (problem.machine.cores <= 2) return read_s < kHandover_s;
  const double thread_s = (read_s + problem.costs.hand_off.runner) * elements;  // calls above
  const bool fits = thread_s * problem.machine.cores <= kRoomForReading * all_work_s;
  const double handed_s = 2 * kHandover_s * elements;
  return fits && (read_s < kHandover_s || handed_s >= kSmallShare * all_work_s) &&
         !waiting_readers(*problem.pipeline, problem.costs, id).waiting;
}

/// Sequential again is only a choice where hand-overs weigh: long calls lose nothing beside others.
bool worth_sequential(const Problem& problem, NodeId id, double all_work_s) {
  const NodeCost& cost = problem.cost(id);
  if (!problem.costs.hand_off_known) return false;
  if (problem.machine.cores < 2) return true;
  if (!problem.node(id).inner.empty()) return worth_one_reader(problem, id, all_work_s);
  return cost.work_s < kShortCall_s * std::max(cost.calls, 1e-9);
}

/// Calls that wait get threads of their own rather than those of the pool.
bool worth_own_threads(const Problem& problem, NodeId id) {
  if (problem.stock[id].mode == Mode::kParallelUnbounded) return true;
  return knows_own_threads(*problem.pipeline) && waits_often(problem, id) &&
         !problem.options->left_out.contains(EditKind::kParallelUnbounded);
}

bool takes_threads_of_its_own(const Node& node) {
  const auto changes = mode_changes(node.op);
  return std::ranges::find(changes, Mode::kParallelUnbounded, &ModeChange::mode) != changes.end();
}

bool worth_a_choice(const Problem& problem, NodeId id, Mode mode, double all_work_s) {
  if (runs_body_inline(mode)) return worth_inline(problem, id);
  if (mode == Mode::kParallelUnbounded) return worth_own_threads(problem, id);
  if (mode == Mode::kParallel && takes_threads_of_its_own(problem.node(id)) &&
      worth_own_threads(problem, id))
    return false;
  return is_boundary(problem.node(id), {mode}) || worth_sequential(problem, id, all_work_s);
}

/// Why a node must not run this way; empty if it may.
std::string why_not(const Problem& problem, NodeId id, Mode mode) {
  std::string reason = runs_body_inline(mode) ? why_not_inline(problem, id) : "";
  if (reason.empty() && is_boundary(problem.node(id), {mode})) {
    reason = why_not_parallel(problem, id);
  }
  return reason;
}

void reject(const Problem& problem, NodeId id, const Rejected& rejected, Choices& choices) {
  const std::string& name = problem.node(id).name;
  const bool said = !choices.rejected.empty() && choices.rejected.back().node == name &&
                    choices.rejected.back().reason == rejected.reason;
  if (!said) choices.rejected.push_back(rejected);
}

void add_modes(const Problem& problem, NodeId id, bool every_level, Choices& choices) {
  NodeChoices& node = choices.nodes[id];
  for (const ModeChange& change : mode_changes(problem.node(id).op)) {
    if (!worth_a_choice(problem, id, change.mode, choices.all_work_s)) continue;
    const bool left_out = problem.options->left_out.contains(change.edit);
    const std::string reason = left_out ? std::string(kLeftOut) : why_not(problem, id, change.mode);
    // The readers run beside each other already.
    const bool beside = is_boundary(problem.node(id), {change.mode});
    if (problem.node(id).moved_inside && beside) continue;
    if (!reason.empty()) {
      reject(problem, id, {edit_word(change.edit), problem.node(id).name, reason}, choices);
      continue;
    }
    if (!is_boundary(problem.node(id), {change.mode})) {
      add_mode(node, change, change.mode, 1);
      continue;
    }
    const int most = choices.most_calls[id];
    const bool other_way = change.mode != problem.stock[id].mode;
    const bool more = other_way || most > problem.stock[id].parallelism;
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

/// Of two ways to run a node, without looking at the rest: short functions inline, others with most
/// calls in flight.
bool worse_by_rule(const ModeChoice& a, const ModeChoice& b) {
  const auto rank = [](const ModeChoice& choice) {
    return std::pair(choice.setting.mode == Mode::kInline, choice.setting.parallelism);
  };
  return rank(a) < rank(b);
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

/// The choices of a large program: all that can run parallel does, and prefetches may stand at even
/// shares of the work only.
void thin_out(const Problem& problem, Choices& choices) {
  const double share_s = choices.all_work_s / kLargePrefetches;
  double work_s = 0;
  for (std::size_t i = 0; i < choices.nodes.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    NodeChoices& node = choices.nodes[id];
    const auto most = std::max_element(node.modes.begin(), node.modes.end(), worse_by_rule);
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

std::string sharding_kernel(const Problem& problem, NodeId id) {
  const Node& node = problem.node(id);
  if (!node.function) return "";
  const FunctionFacts& facts = node.function->facts;
  if (!facts.sharding.empty()) return facts.sharding.front();
  double bytes = problem.analysis->nodes[id].bytes_per_element;
  for (const NodeId input : node.inputs) {
    bytes = std::max(bytes, problem.analysis->nodes[input].bytes_per_element);
  }
  return bytes >= kLarge_bytes && !facts.sharding_large.empty() ? facts.sharding_large.front() : "";
}

std::string why_elements_would_change(const Problem& problem, NodeId id) {
  const Node& node = problem.node(id);
  if (!node.function) return "";
  const Function& function = *node.function;
  const bool permitted = problem.options->permissions.contains(Permission::kStatefulParallel);
  const bool in_order = problem.stock[id].parallelism < 2;
  const auto keeps_state = [](const std::string& op) { return op != "PyFuncStateless"; };
  const auto python = std::ranges::find_if(function.facts.python, keeps_state);
  if (in_order && python != function.facts.python.end() && !permitted) {
    return "its function is Python (" + *python +
           "), which may keep state, and calls beside each other would change its order; "
           "--allow stateful-parallel";
  }
  // Calls beside each other draw in any order: with a seed that takes away what the seed is for.
  if (in_order && reaches(function, &FunctionFacts::seeded) && !permitted) {
    return "its random values have a seed (" + function.facts.seeded.front() +
           "), and calls beside each other would give them to other elements; "
           "--allow stateful-parallel";
  }
  const bool as_written_parallel = node.threading != Threading::kSynchronous;
  if (as_written_parallel && !in_order) return "";
  if (reaches(function, &FunctionFacts::missing) || function.facts.recursive) {
    return "its function cannot be followed to its end, so it may keep state";
  }
  if (reaches(function, &FunctionFacts::stateful) && !permitted) {
    return "its function keeps state (" + function.facts.stateful.front() +
           "), and calls beside each other would change its order; --allow stateful-parallel";
  }
  return "";
}

Choices find_choices(const Problem& problem, double memory_bytes) {
  Choices choices;
  choices.nodes = PerNode<NodeChoices>(problem.pipeline->size());
  choices.most_calls = most_calls(problem);
  choices.all_work_s = total_work(problem);
  const double least_work_s = kSmallShare * choices.all_work_s;
  const bool every_level = memory_matters(problem, choices, memory_bytes);
  const PerNode<bool> keeps_repeat = below_their_repeat(*problem.pipeline);
  for (std::size_t i = 0; i < problem.pipeline->size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    NodeChoices& node = choices.nodes[id];
    node.modes.push_back({problem.stock[id], nullptr});
    const bool fixed = problem.node(id).outer && !problem.node(id).moved_inside;
    const bool made = !problem.node(id).made_above.empty() && !problem.node(id).unfused;
    if (fixed || made || memory_bytes < 0 || never_ran(problem, id)) continue;
    add_modes(problem, id, every_level, choices);
    node.take_last = differ_in_calls_only(node);
    node.prefetch = !keeps_repeat[id] && may_prefetch(problem, id, least_work_s);
  }
  if (count_choices(choices) > kLarge) thin_out(problem, choices);
  find_caches(problem, memory_bytes, choices);
  keep_fused_pairs(problem, choices);
  return choices;
}

std::size_t count_choices(const Choices& choices) {
  std::size_t count = 0;
  for (const NodeChoices& node : choices.nodes) {
    count += node.modes.size() > 1 && !node.take_last ? node.modes.size() : 0;
    count += (node.prefetch ? 1 : 0) + (node.cache_bytes ? 1 : 0) + (node.disk_cache_bytes ? 1 : 0);
  }
  return count;
}

bool any_choice(const Choices& choices) {
  return std::any_of(choices.nodes.begin(), choices.nodes.end(), [](const NodeChoices& node) {
    return node.modes.size() > 1 || node.prefetch || node.cache_bytes || node.disk_cache_bytes;
  });
}

}  // namespace plumber
