// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_format.h"
#include "ops/memory_ledger.h"
#include "ops/rules.h"
#include "pipeline/python_call.h"

namespace plumber {
namespace {

using fmt::format;

bool is_cache(const Node& node) { return node.kind == Kind::kCache && !node.outer; }

bool makes_no_effort(const Node& node) {
  switch (node.kind) {
    case Kind::kMemorySource:
      return !node.function;
    case Kind::kShuffle:
    case Kind::kRepeat:
    case Kind::kTake:
    case Kind::kSkip:
    case Kind::kShard:
    case Kind::kPass:
    case Kind::kPrefetch:
    case Kind::kWrapper:
      return true;
    default:
      return false;
  }
}

bool lists_names(const Pipeline& p, NodeId cache) {
  NodeId below = cache;
  while (p[below].inputs.size() == 1) {
    below = p[below].inputs.front();
    if (!makes_no_effort(p[below])) return false;
  }
  return p[below].inputs.empty() && makes_no_effort(p[below]);
}

// What a cache above the reader would bring, where one may stand and fits into the memory.
std::optional<double> gain_of_records(const Inspection& look, NodeId reader) {
  const NodeAnalysis& node = look.analysis.nodes[reader];
  const double memory = look.pipeline.machine.memory_total_bytes;
  const double bytes = cached_bytes(node);
  const auto& cardinality = node.elements_per_epoch;
  if (cardinality.kind != Cardinality::Kind::kKnown || (memory > 0 && bytes > memory))
    return std::nullopt;
  Setting changed = look.analysis.setting;
  changed[reader].cached = true;
  return gain_per_s(look, changed);
}

}  // namespace

void find_frozen_content(const Inspection& look, NodeId cache, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  const auto& content = look.below[cache].content;
  if (!is_cache(p[cache]) || !content) return;
  const Node& blamed = p[content->node];
  found.push_back({{p[cache].name, blamed.name},
                   format("{} keeps what {} made in the first epoch: every later epoch repeats it",
                          said(p[cache]), said(blamed)),
                   format("{} {}", said(blamed), content->does),
                   std::nullopt,
                   python_at(".cache()", "before " + python_call(blamed))});
}

void find_frozen_order(const Inspection& look, NodeId cache, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  const Randomness& below = look.below[cache];
  if (!is_cache(p[cache]) || below.content || !below.order || look.above[cache].shuffle) return;
  const Node& blamed = p[below.order->node];
  found.push_back(
      {{p[cache].name, blamed.name},
       format("{} keeps the order of the first epoch: no shuffle above it draws a new one",
              said(p[cache])),
       format("{} {}", said(blamed), below.order->does),
       std::nullopt,
       python_at(".cache()", "before " + python_call(blamed))});
}

void find_discarded(const Inspection& look, NodeId cache, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  if (!is_cache(p[cache]) || !look.above[cache].cutter) return;
  const Node& cutter = p[*look.above[cache].cutter];
  Setting filled = look.analysis.setting;
  filled[cache].cached = true;
  const bool takes = cutter.kind == Kind::kTake;
  found.push_back({{p[cache].name, cutter.name},
                   format("{} above {} may not read it to its end; TensorFlow then throws the "
                          "cache away and fills it anew in each epoch",
                          said(cutter), said(p[cache])),
                   takes && cutter.count ? format("{} takes {}", said(cutter), *cutter.count)
                                         : format("{} ends by its own choice", said(cutter)),
                   gain_per_s(look, filled),
                   takes ? python_call(cutter) + ".cache()" : ""});
}

// A cache of a list that an interleave or flat_map above turns into records.
void find_names(const Inspection& look, NodeId reader, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  if (p[reader].kind != Kind::kInterleave && p[reader].kind != Kind::kFlatMap) return;
  for (NodeId at = reader; p[at].inputs.size() == 1;) {
    at = p[at].inputs.front();
    if (p[at].kind == Kind::kCache && lists_names(p, at)) {
      const auto bytes = look.analysis.nodes[at].materialized_bytes;
      found.push_back(
          {{p[at].name, p[reader].name},
           format(
               "{} keeps only the list that {} reads from: nothing is read or decoded less often",
               said(p[at]), said(p[reader])),
           bytes ? format("the whole list is {}", format_bytes(*bytes))
                 : "no file is read below it",
           gain_of_records(look, reader),
           python_at(".cache()", "after " + python_call(p[reader]))});
    }
    if (!makes_no_effort(p[at])) break;
  }
}

// A snapshot is a cache in files that outlives its program.
void find_gone(const Inspection& look, NodeId cache, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  const bool caches = is_cache(p[cache]) || p[cache].op.starts_with("SnapshotDataset");
  if (!caches || p.dumps.empty() || p[cache].inputs.empty()) return;
  const NodeId input = p[cache].inputs.front();
  if (!p[cache].aligned || p[input].aligned) return;
  // Of iterators that lived between two polls the cache's consumers have the count.
  const double elements = std::max(p.dumps.back().counters[cache].elements,
                                   std::round(look.analysis.nodes[cache].elements));
  if (elements <= 0) return;
  found.push_back(
      {{p[cache].name},
       format("the trace began after {} was full: what lies below it has no counters, so its costs "
              "and sizes are unknown",
              said(p[cache])),
       format("{} elements out of the cache, none into it", format_count(elements)),
       std::nullopt,
       p[cache].kind == Kind::kCache ? "# trace from the first epoch on"
                                     : "# trace into another folder, which is written then"});
}

}  // namespace plumber
