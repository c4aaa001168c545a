// SPDX-License-Identifier: Apache-2.0
#include "ops/randomness.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/op_effects.h"

namespace plumber {
namespace {

bool writes_state(const Function& function) {
  return std::ranges::any_of(function.facts.stateful, [](const std::string& op) {
    return op_effect(op) == OpEffect::kStateWrite;
  });
}

bool program_writes_state(const Pipeline& p) {
  return std::ranges::any_of(p.nodes, [](const Node& node) {
    return (node.function && writes_state(*node.function)) ||
           std::ranges::any_of(node.other_functions, writes_state);
  });
}

std::string calls(const std::string& op, const Function& function) {
  const std::string& name = function.source_name;
  return name.empty() ? fmt::format("calls {} in its function", op)
                      : fmt::format("calls {} in its function '{}'", op, name);
}

// The clause for the gravest of the function's facts; empty if it is pure. Python apart.
std::string impurity(const Function& function, bool reads_count) {
  const FunctionFacts& f = function.facts;
  if (!f.random.empty()) return calls(f.random.front(), function);
  if (!f.stateful.empty()) {
    const std::string& op = f.stateful.front();
    return calls(op.find('>') == std::string::npos ? op : "the unknown op " + op, function);
  }
  if (!f.missing.empty())
    return fmt::format("calls the function '{}', which is not in the program", f.missing.front());
  if (reads_count && !f.state_reads.empty())
    return calls(f.state_reads.front(), function) + " while the program writes variables or tables";
  return "";
}

std::string random_op(const Node& node) {
  if (node.op.find("RandomDataset") != std::string::npos) return "draws numbers by chance";
  if (node.op.find("SamplingDataset") != std::string::npos) return "picks elements by chance";
  if (node.op.find("DataService") != std::string::npos) return "asks a tf.data service";
  if (node.op == "DatasetFromGraph") return "runs a program of its own";
  if (op_traits(node.op).op.empty())
    return fmt::format("is an op that plumber does not know ({})", node.op);
  return "";
}

// Ops that choose or combine elements by their place in the order.
bool chooses_by_order(const Node& node) {
  switch (node.kind) {
    case Kind::kTake:
    case Kind::kSkip:
      return node.count != (node.kind == Kind::kTake ? -1 : 0);
    case Kind::kShard:
    case Kind::kZip:
    case Kind::kScan:
    case Kind::kTakeWhile:
    case Kind::kOpaque:
      return true;
    case Kind::kMixture:
      return node.stop_on_empty;
    default:
      return false;
  }
}

bool groups(Kind kind) {
  return kind == Kind::kBatch || kind == Kind::kMapBatch || kind == Kind::kWindow ||
         kind == Kind::kGroup;
}

std::string reordering(const Node& node) {
  if (reshuffles(node)) return "reshuffles in each epoch";
  const bool parallel = node.threading == Threading::kParallelCalls ||
                        node.threading == Threading::kParallelInterleave;
  return parallel && !node.deterministic ? "is not deterministic" : "";
}

class Search {
 public:
  Search(const Pipeline& pipeline, const std::function<bool(NodeId)>& freezes)
      : p_(pipeline),
        freezes_(freezes),
        reads_count_(program_writes_state(pipeline)),
        below_(pipeline.size()) {}

  PerNode<Randomness> run() {
    for (std::size_t i = 0; i < p_.size(); ++i) visit(static_cast<NodeId>(i));
    return std::move(below_);
  }

 private:
  static void blame(std::optional<Blame>& slot, NodeId n, std::string does) {
    if (!slot && !does.empty()) slot = Blame{n, std::move(does)};
  }

  static void merge(const Randomness& from, Randomness& to) {
    if (!to.content) to.content = from.content;
    if (!to.python) to.python = from.python;
    if (!to.order) to.order = from.order;
    if (!to.grouping) to.grouping = from.grouping;
    to.order_by_chance = to.order_by_chance || from.order_by_chance;
  }

  void visit(NodeId n) {
    const Node& node = p_[n];
    if (node.kind == Kind::kCache && freezes_(n)) return;
    Randomness& r = below_[n];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) merge_input(node, k, r);
    for (const NodeId inner : node.inner) merge(below_[inner], r);
    own(n, node, r);
  }

  // True if the data set surely never ends.
  bool endless(NodeId n) const {
    while (true) {
      const Node& node = p_[n];
      if (node.op.starts_with("RandomDataset")) return true;
      if (node.kind == Kind::kRepeat && node.count.value_or(0) < 0) return true;
      const bool may_end = node.kind == Kind::kTake || node.kind == Kind::kTakeWhile;
      if (may_end || node.inputs.size() != 1 || !node.inner.empty()) return false;
      n = node.inputs.front();
    }
  }

  // A selector that draws by chance changes the order of a mixture, not its elements, if it goes on
  // until the others have ended.
  void merge_input(const Node& node, std::size_t k, Randomness& r) const {
    Randomness below = below_[node.inputs[k]];
    if (node.kind == Kind::kMixture && k == 0 && below.content && endless(node.inputs[0])) {
      below.order = below.content;
      below.order_by_chance = below.order_by_chance || !p_[below.content->node].fixed_seed;
      below.content.reset();
    }
    merge(below, r);
  }

  void own(NodeId n, const Node& node, Randomness& r) const {
    blame(r.content, n, random_op(node));
    if (node.function) add_function(n, *node.function, r);
    for (const Function& function : node.other_functions) add_function(n, function, r);
    if (r.order && chooses_by_order(node))
      blame(r.content, n,
            fmt::format("chooses elements by an order that changes, as {} {}",
                        said(p_[r.order->node]), r.order->does));
    if (r.order && groups(node.kind))
      blame(r.grouping, n,
            fmt::format("puts elements together by an order that changes, as {} {}",
                        said(p_[r.order->node]), r.order->does));
    const std::string reorders = reordering(node);
    blame(r.order, n, reorders);
    if (!reorders.empty() && !(reshuffles(node) && node.fixed_seed)) r.order_by_chance = true;
  }

  void add_function(NodeId n, const Function& function, Randomness& r) const {
    blame(r.content, n, impurity(function, reads_count_));
    if (!function.facts.python.empty())
      blame(r.python, n, calls(function.facts.python.front(), function));
  }

  const Pipeline& p_;
  const std::function<bool(NodeId)>& freezes_;
  const bool reads_count_;
  PerNode<Randomness> below_;
};

}  // namespace

PerNode<Randomness> randomness_below(const Pipeline& pipeline,
                                     const std::function<bool(NodeId)>& freezes) {
  return Search(pipeline, freezes).run();
}

bool reshuffles(const Node& node) {
  return (node.kind == Kind::kShuffle || node.kind == Kind::kShuffleRepeat) &&
         node.reshuffle_each_iteration && node.buffer_size.value_or(2) != 1;
}

std::string said(const Node& node) {
  const bool tells_op = node.name.find(node.op) != std::string::npos;
  return tells_op ? node.name : fmt::format("{} ({})", node.name, node.op);
}

}  // namespace plumber
