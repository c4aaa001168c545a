// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/number_format.h"
#include "ops/rules.h"
#include "pipeline/python_call.h"

namespace plumber {
namespace {

using fmt::format;

bool is_batch(Kind kind) { return kind == Kind::kBatch || kind == Kind::kMapBatch; }

// The next node below that does more than hand elements on.
std::optional<NodeId> next_below(const Pipeline& p, NodeId n, bool through_maps) {
  while (p[n].inputs.size() == 1) {
    n = p[n].inputs.front();
    switch (p[n].kind) {
      case Kind::kPass:
      case Kind::kPrefetch:
      case Kind::kWrapper:
      case Kind::kRepeat:
      case Kind::kTake:
      case Kind::kSkip:
      case Kind::kShuffle:
        continue;
      case Kind::kMap:
        if (through_maps) continue;
        return n;
      default:
        return n;
    }
  }
  return std::nullopt;
}

// Ops that TensorFlow keeps for old programs, sorted.
constexpr std::array<std::string_view, 13> kLegacy{
    "BatchDataset",
    "CacheDataset",
    "FilterByLastComponentDataset",
    "MapAndBatchDataset",
    "PaddedBatchDataset",
    "ParallelInterleaveDataset",
    "ParallelInterleaveDatasetV2",
    "ParallelInterleaveDatasetV3",
    "ParallelMapDataset",
    "ParseExampleDataset",
    "ShuffleAndRepeatDataset",
    "ShuffleDataset",
    "ShuffleDatasetV2",
};

// Where a .repeat() goes on drawing a new order in each epoch.
std::string after_shuffles(const Pipeline& p) {
  for (NodeId n = p.root; !p[n].inputs.empty(); n = p[n].inputs.front())
    if (p[n].kind == Kind::kShuffle) return "anywhere after " + python_call(p[n]);
  return "at the end";
}

}  // namespace

void find_batch_of_batch(const Inspection& look, NodeId batch, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  if (!is_batch(p[batch].kind)) return;
  const auto below = next_below(p, batch, false);
  if (!below || !is_batch(p[*below].kind)) return;
  found.push_back({{p[batch].name, p[*below].name},
                   format("{} makes batches of the batches of {}", said(p[batch]), said(p[*below])),
                   format("an element is [{}, {}, ...]", p[batch].count.value_or(-1),
                          p[*below].count.value_or(-1)),
                   std::nullopt,
                   "# without " + python_call(p[batch])});
}

void find_unbatch(const Inspection& look, NodeId unbatch, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  if (p[unbatch].kind != Kind::kUnbatch) return;
  const auto below = next_below(p, unbatch, true);
  if (!below || !is_batch(p[*below].kind)) return;
  Costs without = look.analysis.costs;
  double cost_s = 0;
  for (const NodeId n : {unbatch, *below}) {
    cost_s += without.nodes[n].work_s;
    without.nodes[n].work_s = without.nodes[n].cpu_s = 0;
  }
  found.push_back(
      {{p[unbatch].name, p[*below].name},
       format("{} takes apart the batches of {}", said(p[unbatch]), said(p[*below])),
       format("both take {} of the time a root element takes", share_of_period(look, cost_s)),
       gain_per_s(look, without),
       ".rebatch(N)  # for batches of another size, in place of .unbatch()"});
}

void find_legacy(const Inspection& look, std::vector<Remark>& found) {
  Remark finding{{},
                 "",
                 "",
                 std::nullopt,
                 "# their successors: .map().batch(), .shuffle().repeat(), .interleave()"};
  std::vector<std::string_view> ops;
  for (const Node& node : look.pipeline.nodes) {
    if (!std::ranges::binary_search(kLegacy, node.op) && !node.op.starts_with("Experimental"))
      continue;
    finding.nodes.push_back(node.name);
    if (std::ranges::find(ops, node.op) == ops.end()) ops.push_back(node.op);
  }
  if (ops.empty()) return;
  std::string list;
  for (const std::string_view op : ops) list += (list.empty() ? "" : ", ") + std::string(op);
  finding.text =
      "the program uses ops that TensorFlow keeps for old programs only: it may optimise less, and "
      "plumber too";
  finding.evidence = list;
  found.push_back(std::move(finding));
}

// Epochs that were seen to their end and took longer than their elements explain.
void find_short_epochs(const Inspection& look, std::vector<Remark>& found) {
  const auto start_s = look.analysis.rate.epoch_start_s;
  if (!start_s || look.pipeline.dumps.empty()) return;
  const PipelineDump& dump = look.pipeline.dumps.back();
  const double elements = dump.epochs_elements / dump.epochs;
  const double epoch_s = elements * dump.time_s / dump.root_elements;
  found.push_back(
      {{look.pipeline[look.pipeline.root].name},
       "epochs are so short that much of the time goes into making the iterators of the next one",
       format("{} epochs of {} elements, {} each, of which their elements need {}",
              format_count(dump.epochs), format_count(elements), format_seconds(epoch_s),
              format_seconds(epoch_s - *start_s)),
       std::nullopt,
       python_at(".repeat()", after_shuffles(look.pipeline) + "; count the steps of an epoch")});
}

}  // namespace plumber
