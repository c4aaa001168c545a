// SPDX-License-Identifier: Apache-2.0
#include "ops/pauses.h"

#include <algorithm>

namespace plumber {
namespace {

constexpr double kGathers = 0.5;  // fewer elements out than in: a batch, not a filter

/// Work of one thread for one element that it hands up, since it last pulled.
struct Thread {
  double work_s = 0;
  Pause longest;
};

Thread below(const Costs& costs, NodeId node, NodeId input, Thread thread) {
  const NodeCost& cost = costs.nodes[node];
  const bool runs = cost.elements > 0;
  if (runs) thread.work_s += cost.work_s / cost.elements;
  const double taken = costs.nodes[input].elements;
  if (!runs || cost.elements >= kGathers * taken) return thread;
  if (thread.work_s > thread.longest.length_s)
    thread.longest = {thread.work_s, cost.elements, taken / cost.elements};
  thread.work_s = 0;
  return thread;
}

}  // namespace

PerNode<Pause> pauses_above(const Pipeline& pipeline, const Costs& costs, const Setting& setting) {
  PerNode<Thread> above(pipeline.size());
  PerNode<Pause> pauses(pipeline.size());
  for (std::size_t i = pipeline.size(); i-- > 0;) {
    const auto id = static_cast<NodeId>(i);
    pauses[id] = above[id].longest;
    const bool boundary = setting[id].prefetch_above || is_boundary(pipeline[id], setting[id]);
    for (const NodeId input : pipeline[id].inputs) {
      if (is_boundary(pipeline[id], setting[id])) continue;
      above[input] = below(costs, id, input, boundary ? Thread{} : above[id]);
    }
  }
  return pauses;
}

double idle_in_pauses_s(const Pause& pause, double calls, double service_s, double cores) {
  const double others_s = pause.length_s * std::max(0.0, cores - 1);
  const double useful_s = std::min(others_s, pause.elements * service_s);
  return pause.per_root * std::max(0.0, useful_s - calls * service_s);
}

}  // namespace plumber
