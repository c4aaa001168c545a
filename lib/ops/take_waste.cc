// SPDX-License-Identifier: Apache-2.0
#include "ops/take_waste.h"

#include <algorithm>

namespace plumber {
namespace {

constexpr double kBegunOfCalls = 0.7;

// Of one pass, in elements of the node.
struct Pass {
  double wanted = 0;  // 0: no take ends it
  double begun = 0;   // more than that
  double left = 0;    // that could be begun
};

double held_by(const Node& prefetch) {
  const double held = prefetch.buffer_fill.value_or(0);
  const auto& size = prefetch.buffer_size;
  return size && *size >= 0 ? std::min(held, static_cast<double>(*size)) : held;
}

void begin(Pass& pass, double more) { pass.begun = std::min(pass.begun + more, pass.left); }

Pass below_batch(const Pass& pass, const Node& batch) {
  const auto size = static_cast<double>(std::max<std::int64_t>(0, batch.count.value_or(0)));
  return {pass.wanted * size, pass.begun * size, pass.left * size};
}

// What the node's input is asked for in the pass.
Pass below(const Node& node, const NodeCost& cost, const NodeSetting& setting, Pass pass) {
  switch (node.kind) {
    case Kind::kTake:
      if (!(cost.elements_left > 0)) return pass;
      return {static_cast<double>(node.count.value_or(0)), 0, cost.elements_left};
    case Kind::kMap:
      if (is_parallel(setting.mode)) begin(pass, kBegunOfCalls * setting.parallelism);
      return pass;
    case Kind::kPrefetch:
      begin(pass, held_by(node));
      return pass;
    case Kind::kBatch:
      if (is_parallel(setting.mode)) begin(pass, kBegunOfCalls * setting.parallelism);
      return below_batch(pass, node);
    case Kind::kWrapper:
      return pass;
    default:
      return {};
  }
}

double share(const Pass& pass) {
  return pass.wanted > 0 ? (pass.wanted + pass.begun) / pass.wanted : 1;
}

}  // namespace

std::optional<PerNode<Begun>> begun_below_takes(const Pipeline& pipeline, const Costs& costs,
                                                const Setting& setting) {
  const auto ends = [](const NodeCost& cost) { return cost.elements_left > 0; };
  if (std::none_of(costs.nodes.begin(), costs.nodes.end(), ends)) return std::nullopt;
  PerNode<Begun> begun(pipeline.size());
  PerNode<Pass> asked(pipeline.size());
  PerNode<char> readers(pipeline.size(), 0);
  for (std::size_t i = pipeline.size(); i-- > 0;) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = pipeline[id];
    if (readers[id] > 1) asked[id] = {};  // another one asks for the rest
    const Pass pass = below(node, costs.nodes[id], setting[id], asked[id]);
    const bool calls = node.kind == Kind::kMap && asked[id].wanted > 0;
    begun[id] = {share(asked[id]), share(calls ? pass : asked[id])};
    if (node.inputs.size() != 1 || setting[id].cached) continue;
    const NodeId input = node.inputs.front();
    readers[input] = static_cast<char>(readers[input] == 0 ? 1 : 2);
    asked[input] = pass;
  }
  return begun;
}

Costs with_waste(const Costs& costs, const PerNode<Begun>& begun) {
  Costs more = costs;
  for (std::size_t i = 0; i < begun.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    NodeCost& cost = more.nodes[id];
    cost.elements *= begun[id].elements;
    for (double* value : {&cost.work_s, &cost.cpu_s, &cost.calls, &cost.disk_bytes, &cost.iterators,
                          &cost.bookkeeping_s})
      *value *= begun[id].work;
  }
  return more;
}

}  // namespace plumber
