// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "ops/inspection.h"

namespace plumber {
namespace {

using fmt::format;

const std::string& name(const Inspection& look, NodeId n) { return look.pipeline[n].name; }

void find_frozen(const Inspection& look, NodeId cache, std::vector<Finding>& found) {
  const Pipeline& p = look.pipeline;
  const Randomness& below = look.below[cache];
  if (below.content) {
    const Node& blamed = p[below.content->node];
    found.push_back(
        {"augmentation-frozen",
         Severity::kWarning,
         {name(look, cache), blamed.name},
         format("{} keeps what {} made in the first epoch: every later epoch repeats it",
                said(p[cache]), said(blamed)),
         format("{} {}", said(blamed), below.content->does),
         std::nullopt,
         format(".cache() before {}", written(blamed))});
  } else if (below.order && !look.above[cache].shuffle) {
    const Node& blamed = p[below.order->node];
    found.push_back(
        {"order-frozen",
         Severity::kWarning,
         {name(look, cache), blamed.name},
         format("{} keeps the order of the first epoch: no shuffle above it draws a new one",
                said(p[cache])),
         format("{} {}", said(blamed), below.order->does),
         std::nullopt,
         format(".cache() before {}", written(blamed))});
  }
}

void find_discarded(const Inspection& look, NodeId cache, std::vector<Finding>& found) {
  const Pipeline& p = look.pipeline;
  if (!look.above[cache].cutter) return;
  const Node& cutter = p[*look.above[cache].cutter];
  Setting filled = look.analysis.setting;
  filled[cache].cached = true;
  const bool takes = cutter.kind == Kind::kTake;
  found.push_back({"cache-discarded",
                   Severity::kWarning,
                   {name(look, cache), cutter.name},
                   format("{} above {} may not read it to its end; TensorFlow then throws the "
                          "cache away and fills it anew in each epoch",
                          said(cutter), said(p[cache])),
                   takes && cutter.count ? format("{} takes {}", said(cutter), *cutter.count)
                                         : format("{} ends by its own choice", said(cutter)),
                   gain_per_s(look, filled),
                   takes ? written(cutter) + ".cache()" : ""});
}

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

// A cache of a list that an interleave or flat_map above turns into records.
void find_names(const Inspection& look, NodeId cache, NodeId reader, std::vector<Finding>& found) {
  const Pipeline& p = look.pipeline;
  NodeId below = cache;
  while (p[below].inputs.size() == 1) {
    below = p[below].inputs.front();
    if (!makes_no_effort(p[below])) return;
  }
  if (!p[below].inputs.empty() || !makes_no_effort(p[below])) return;
  const auto bytes = look.analysis.nodes[cache].materialized_bytes;
  found.push_back(
      {"cache-of-names",
       Severity::kWarning,
       {name(look, cache), name(look, reader)},
       format("{} keeps only the list that {} reads from: nothing is read or decoded less often",
              said(p[cache]), said(p[reader])),
       bytes ? format("the whole list is {}", format_bytes(*bytes)) : "no file is read below it",
       std::nullopt,
       format("{}.cache()", written(p[reader]))});
}

// A snapshot is a cache in files that outlives its program.
void find_gone(const Inspection& look, NodeId cache, std::vector<Finding>& found) {
  const Pipeline& p = look.pipeline;
  if (p.dumps.empty() || p[cache].inputs.empty()) return;
  const auto& counters = p.dumps.back().counters;
  const NodeId input = p[cache].inputs.front();
  if (counters[cache].elements <= 0 || counters[input].elements > 0) return;
  found.push_back(
      {"cache-producers-gone",
       Severity::kWarning,
       {name(look, cache)},
       format("the trace began after {} was full: what lies below it has no counters, so its costs "
              "and sizes are unknown",
              said(p[cache])),
       format("{} elements out of the cache, none into it", format_count(counters[cache].elements)),
       std::nullopt,
       p[cache].kind == Kind::kCache ? "trace from the first epoch on"
                                     : "trace into another folder, which is written then"});
}

}  // namespace

void find_cache_faults(const Inspection& look, std::vector<Finding>& found) {
  const Pipeline& p = look.pipeline;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    if (p[n].kind == Kind::kCache && !p[n].outer) {
      find_frozen(look, n, found);
      find_discarded(look, n, found);
      find_gone(look, n, found);
    }
    if (p[n].op.starts_with("SnapshotDataset")) find_gone(look, n, found);
    if (p[n].kind != Kind::kInterleave && p[n].kind != Kind::kFlatMap) continue;
    for (NodeId at = n; p[at].inputs.size() == 1;) {
      at = p[at].inputs.front();
      if (p[at].kind == Kind::kCache) find_names(look, at, n, found);
      if (!makes_no_effort(p[at])) break;
    }
  }
}

}  // namespace plumber
