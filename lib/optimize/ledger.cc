// SPDX-License-Identifier: Apache-2.0
#include "optimize/ledger.h"

#include <algorithm>
#include <cmath>

#include "ops/memory_ledger.h"
#include "optimize/cache_choices.h"
#include "optimize/programme_input.h"

namespace plumber {
namespace {

double element_bytes(const Problem& problem, NodeId id) {
  return problem.analysis->nodes[id].bytes_per_element;
}

Memory ledger_of(const Problem& problem, const Setting& setting) {
  return memory_ledger(*problem.pipeline, problem.analysis->nodes, setting);
}

void resize_buffers(const Problem& problem, const Settled& settled,
                    std::vector<MemoryItem>& items) {
  for (MemoryItem& item : items) {
    const auto found = problem.by_name.find(item.node);
    if (found == problem.by_name.end() || settled.buffers[found->second] == 0) continue;
    item.bytes = settled.buffers[found->second] * element_bytes(problem, found->second);
  }
}

void add_inserted(const Problem& problem, const Settled& settled, std::vector<MemoryItem>& items) {
  const double period_s = evaluate(problem, settled).period_s;
  for (std::size_t i = 0; i < settled.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const NodeSetting& setting = settled.setting[id];
    const std::string& name = problem.node(id).name;
    if (setting.prefetch_above) {
      const double elements = prefetch_size(problem, id, period_s);
      items.push_back({name, "prefetch", elements * element_bytes(problem, id)});
    }
    if (setting.cached && !setting.on_disk && problem.node(id).kind != Kind::kCache) {
      items.push_back({name, "cache", cached_bytes(problem.analysis->nodes[id])});
    }
  }
}

}  // namespace

double stock_memory_bytes(const Problem& problem) {
  double bytes = ledger_of(problem, problem.stock).held_bytes;
  constexpr double kInjected = 2;  // elements of the prefetch that TensorFlow adds
  for (std::size_t i = 0; i < problem.stock.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (problem.stock[id].prefetch_above) bytes += kInjected * element_bytes(problem, id);
  }
  return bytes;
}

// The formulas of ops/memory_ledger.h for a single node: a search asks for thousands of them.
double in_flight_bytes(const Problem& problem, NodeId id, const NodeSetting& setting) {
  const Node& node = problem.node(id);
  const double calls = std::max(1.0, setting.parallelism);
  if (node.kind == Kind::kBatch) return calls * element_bytes(problem, id);  // one is being filled
  if (!is_boundary(node, setting) || node.kind == Kind::kPrefetch) return 0;
  switch (node.kind) {
    case Kind::kInterleave:
      return fetched_ahead_bytes(*problem.pipeline, problem.analysis->nodes, id, calls);
    case Kind::kMapBatch: {
      const auto batch = static_cast<double>(std::max<std::int64_t>(1, node.count.value_or(1)));
      return (std::ceil(calls / batch) + 1) * element_bytes(problem, id);
    }
    default:
      return calls * element_bytes(problem, id);
  }
}

double fixed_memory_bytes(const Problem& problem, const Choices& choices) {
  double total = ledger_of(problem, problem.stock).held_bytes;
  for (std::size_t i = 0; i < choices.nodes.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const bool below_cache = problem.analysis->nodes[id].below_cache;
    if (choices.nodes[id].modes.size() < 2 || below_cache) continue;
    total -= in_flight_bytes(problem, id, problem.stock[id]);
  }
  return total;
}

PlannedDisk planned_disk(const Problem& problem, const Settled& settled) {
  PlannedDisk disk;
  disk.room_bytes = problem.machine.disk_cache ? problem.machine.disk_cache->room_bytes : 0;
  for (std::size_t i = 0; i < settled.setting.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!settled.setting[id].on_disk) continue;
    disk.items.push_back({problem.node(id).name, "cache", filed_bytes(problem, id)});
    disk.planned_bytes += disk.items.back().bytes;
  }
  return disk;
}

PlannedMemory planned_memory(const Problem& problem, const Settled& settled) {
  PlannedMemory memory;
  memory.budget_bytes = problem.options->limits.memory_bytes;
  memory.items = ledger_of(problem, settled.setting).items;
  resize_buffers(problem, settled, memory.items);
  add_inserted(problem, settled, memory.items);
  std::erase_if(memory.items, [](const MemoryItem& item) { return item.bytes <= 0; });
  std::stable_sort(memory.items.begin(), memory.items.end(),
                   [](const MemoryItem& a, const MemoryItem& b) { return a.bytes > b.bytes; });
  for (const MemoryItem& item : memory.items) memory.planned_bytes += item.bytes;
  return memory;
}

}  // namespace plumber
