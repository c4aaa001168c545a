// SPDX-License-Identifier: Apache-2.0
// What an analysis knows of a small pipeline, costs taken from the counters as they stand: findings
// are tested apart from demands.
#pragma once

#include "ops/analysis.h"
#include "ops/cardinality.h"
#include "ops/memory_ledger.h"
#include "pipeline_builder.h"

namespace plumber {

inline Analysis analysis_of(const Pipeline& p, double cores = 4) {
  Analysis a;
  const PipelineDump& dump = p.dumps.back();
  const auto visits = counted_visits(p);
  const auto elements = elements_per_epoch(p, visits);
  a.nodes = PerNode<NodeAnalysis>(p.size());
  a.costs.nodes = PerNode<NodeCost>(p.size());
  a.setting = traced_setting(p);
  a.cores = cores;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    const Counters& c = dump.counters[n];
    a.nodes[n].elements_per_epoch = elements[n];
    a.nodes[n].bytes_per_element = c.elements > 0 ? c.bytes_produced / c.elements : 0;
    a.nodes[n].materialized_bytes = materialized_bytes(elements[n], a.nodes[n].bytes_per_element);
    NodeCost& cost = a.costs.nodes[n];
    cost.elements = visits[n];
    cost.work_s = cost.cpu_s = dump.root_elements > 0 ? c.service_s / dump.root_elements : 0;
    if (p[n].function) cost.calls = visits[n];
    if (p[n].function && !p[n].function->facts.python.empty()) cost.python = true;
  }
  a.memory = memory_ledger(p, a);
  return a;
}

}  // namespace plumber
