// SPDX-License-Identifier: Apache-2.0
#include "ops/memory_ledger.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace plumber {
namespace {

constexpr double kSlot_bytes = 200;
constexpr double kReadAhead_bytes = 256 * 1024;

double positive(std::optional<std::int64_t> value, double otherwise) {
  return value && *value > 0 ? static_cast<double>(*value) : otherwise;
}

double elements_of(const PerNode<NodeAnalysis>& nodes, NodeId n, double otherwise) {
  const Cardinality& c = nodes[n].elements_per_epoch;
  return c.kind == Cardinality::Kind::kKnown ? c.elements : otherwise;
}

// Iterators that an interleave keeps open; a flat_map, window or group keeps one.
double open_files(const Pipeline& p, const PerNode<NodeAnalysis>& nodes, NodeId n, double calls) {
  if (p[n].kind != Kind::kInterleave) return 1;
  const double cycle = positive(p[n].cycle_length, calls);
  const double files = p[n].inputs.empty() ? cycle : elements_of(nodes, p[n].inputs.front(), cycle);
  return std::max(1.0, std::min(cycle, files));
}

class Ledger {
 public:
  Ledger(const Pipeline& pipeline, const PerNode<NodeAnalysis>& nodes, const Setting& setting)
      : p_(pipeline), nodes_(nodes), setting_(setting), open_(pipeline.size(), 1) {}

  Memory run() {
    for (std::size_t i = p_.size(); i-- > 0;) count_open(static_cast<NodeId>(i));
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const auto n = static_cast<NodeId>(i);
      if (!nodes_[n].below_cache) enter(n);
    }
    std::ranges::stable_sort(memory_.items, std::ranges::greater(), &MemoryItem::bytes);
    return std::move(memory_);
  }

 private:
  // Iterators of an inner node that are open at once.
  void count_open(NodeId n) {
    if (!p_[n].outer) return;
    const NodeId outer = *p_[n].outer;
    open_[n] = open_[outer] * open_files(outer);
  }

  double open_files(NodeId n) const { return plumber::open_files(p_, nodes_, n, calls(n)); }

  double elements(NodeId n, double otherwise) const { return elements_of(nodes_, n, otherwise); }

  double calls(NodeId n) const { return std::max(1.0, setting_[n].parallelism); }

  double buffer(NodeId n) const {
    if (p_[n].buffer_size && *p_[n].buffer_size > 0) return static_cast<double>(*p_[n].buffer_size);
    return p_[n].traced_buffer_size.value_or(0);
  }

  double input_bytes(NodeId n) const {
    return p_[n].inputs.empty() ? 0 : nodes_[p_[n].inputs.front()].bytes_per_element;
  }

  void add(NodeId n, const char* what, double bytes) {
    bytes *= open_[n];
    if (!(bytes > 0)) return;
    memory_.items.push_back({p_[n].name, what, bytes});
    memory_.held_bytes += bytes;
  }

  void enter(NodeId n) {
    const Node& node = p_[n];
    const double b = nodes_[n].bytes_per_element;
    if (!node.outer) add(n, "partial cache", node.partial_cache_bytes);
    switch (node.kind) {
      case Kind::kShuffle:
      case Kind::kShuffleRepeat:
        return shuffle(n);
      case Kind::kPrefetch:
        return add(n, "prefetch", std::min(buffer(n), elements(n, buffer(n))) * b);
      case Kind::kInterleave:
        return interleave(n);
      case Kind::kMapBatch:
        return add(n, "calls in flight", (std::ceil(calls(n) / positive(node.count, 1)) + 1) * b);
      case Kind::kBatch:
        return add(n, "batch in flight", calls(n) * b);
      case Kind::kWindow:
        return add(n, "window", positive(node.count, 1) * input_bytes(n));
      case Kind::kGroup:
        return add(n, "groups", open_groups_bytes(n));
      case Kind::kCache:
        if (node.cache_file.empty()) add(n, "cache", cached_bytes(nodes_[n]));
        return;
      case Kind::kMemorySource:
        if (node.op.starts_with("Tensor") && !node.outer)
          add(n, "source tensors", elements(n, 0) * b);
        return;
      default:
        if (is_boundary(node, setting_[n])) add(n, "calls in flight", calls(n) * b);
    }
  }

  void shuffle(NodeId n) {
    const NodeId input = p_[n].inputs.empty() ? n : p_[n].inputs.front();
    const double held = std::min(buffer(n), elements(input, buffer(n)));
    const double b = nodes_[n].bytes_per_element > 0 ? nodes_[n].bytes_per_element : input_bytes(n);
    add(n, "shuffle buffer", held * (b + kSlot_bytes));
  }

  bool reads_files(NodeId n) const {
    return std::ranges::any_of(p_[n].inner, [&](NodeId inner) {
      return p_[inner].kind == Kind::kFileSource ||
             std::ranges::any_of(p_[inner].inner,
                                 [&](NodeId deep) { return p_[deep].kind == Kind::kFileSource; });
    });
  }

  void interleave(NodeId n) {
    double bytes = reads_files(n) ? open_files(n) * kReadAhead_bytes : 0;
    if (is_boundary(p_[n], setting_[n])) bytes += fetched_ahead_bytes(p_, nodes_, n, calls(n));
    add(n, "interleave buffers", bytes);
  }

  // Elements that were read and that no finished group has handed on. Batches of a fixed size tell
  // how many those were, else bytes do.
  double open_groups_bytes(NodeId n) const {
    if (p_.dumps.empty() || p_[n].inputs.empty()) return 0;
    const auto& counters = p_.dumps.back().counters;
    const double in = counters[p_[n].inputs.front()].elements, each = input_bytes(n);
    double out = each > 0 ? counters[n].bytes_produced / each : in;
    for (const NodeId inner : p_[n].inner)
      if (p_[inner].kind == Kind::kBatch && p_[inner].count.value_or(0) > 0)
        out = counters[n].elements * static_cast<double>(*p_[inner].count);
    const double waiting = std::max(0.0, in - out) / std::max(1.0, counters[n].iterators);
    return std::max(counters[n].buffered_bytes, waiting * each);
  }

  const Pipeline& p_;
  const PerNode<NodeAnalysis>& nodes_;
  const Setting& setting_;
  PerNode<double> open_;
  Memory memory_;
};

}  // namespace

// Two blocks ahead for each open file, and for twice as many files that wait for their turn, where
// the program does not say.
double fetched_ahead_bytes(const Pipeline& pipeline, const PerNode<NodeAnalysis>& nodes, NodeId id,
                           double calls) {
  const Node& node = pipeline[id];
  const double ahead = positive(node.buffer_size, 2 * positive(node.block_length, 1));
  const double cycle = open_files(pipeline, nodes, id, calls);
  const bool said = node.prefetched_inputs.value_or(kAutotune) >= 0;
  const double most =
      said ? positive(node.cycle_length, cycle) + static_cast<double>(*node.prefetched_inputs)
           : 3 * cycle;
  const double all = node.inputs.empty() ? most : elements_of(nodes, node.inputs.front(), most);
  return std::min(most, std::max(cycle, all)) * ahead * nodes[id].bytes_per_element;
}

double cached_bytes(const NodeAnalysis& node) {
  if (!node.materialized_bytes) return 0;
  return *node.materialized_bytes + kSlot_bytes * node.elements_per_epoch.elements;
}

Memory memory_ledger(const Pipeline& pipeline, const PerNode<NodeAnalysis>& nodes,
                     const Setting& setting) {
  return Ledger(pipeline, nodes, setting).run();
}

Memory memory_ledger(const Pipeline& pipeline, const Analysis& analysis) {
  return memory_ledger(pipeline, analysis.nodes, analysis.setting);
}

PerNode<double> held_bytes(const Pipeline& pipeline, const Memory& memory) {
  std::unordered_map<std::string, double> by_name;
  for (const MemoryItem& item : memory.items) by_name[item.node] += item.bytes;
  PerNode<double> held(pipeline.size(), 0);
  for (std::size_t i = 0; i < pipeline.size(); ++i)
    if (const auto found = by_name.find(pipeline.nodes[i].name); found != by_name.end())
      held[static_cast<NodeId>(i)] = found->second;
  return held;
}

}  // namespace plumber
