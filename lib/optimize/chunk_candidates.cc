// SPDX-License-Identifier: Apache-2.0
#include "optimize/chunk_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_format.h"
#include "optimize/move_rules.h"
#include "optimize/new_nodes.h"
#include "optimize/problem.h"

namespace plumber {
namespace {

constexpr double kChunkWork_s = 8e-3;
constexpr double kLeastElements = 16, kMostElements = 1024;
constexpr double kMostChunk_bytes = 8 << 20;
constexpr double kMostRootElements = 64;  // that wait for one chunk
constexpr double kLeastOfARoot = 4;       // what is no part of a batch is handed over singly anyway
constexpr double kChunksOfACore = 4;      // of an epoch, at least
constexpr double kLongCall_s = 300e-6;    // parallel calls lose little by handing it over
constexpr std::size_t kMostNodesInside = 8;

class ChunkFinder {
 public:
  ChunkFinder(const Moved& now, const OptimizeOptions& options)
      : now_(now),
        p_(now.pipeline),
        cores_(std::max(1.0, std::floor(options.limits.cores))),
        readers_(consumers_of(p_)) {}

  MoveCandidates run() {
    MoveCandidates found;
    if (cores_ < 2 || !now_.analysis.costs.hand_off_known) return found;
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (begins_run(id))
        offer_run(id, found);
      else
        note_objection(id, found);
    }
    return found;
  }

 private:
  // A map or filter of the main graph that alone reads its input.
  bool is_link(NodeId id) const {
    const Node& node = p_[id];
    return !node.outer && node.inputs.size() == 1 && !p_[node.inputs.front()].outer &&
           readers_[node.inputs.front()].size() == 1 &&
           (node.kind == Kind::kMap || node.kind == Kind::kFilter);
  }

  bool may_go_inside(NodeId id) const { return is_link(id) && objection_to_chunks(p_, id).empty(); }

  // Said where chunks might pay.
  void note_objection(NodeId id, MoveCandidates& found) const {
    if (!is_link(id) || !is_short(id) ||
        now_.analysis.costs.nodes[p_[id].inputs.front()].elements < kLeastOfARoot)
      return;
    const std::string why = objection_to_chunks(p_, id);
    if (!why.empty())
      found.illegal.push_back({edit_word(EditKind::kInsertChunks), p_[id].name, why});
  }

  // The lowest of its run.
  bool begins_run(NodeId id) const {
    const Node& node = p_[id];
    return may_go_inside(id) && !may_go_inside(node.inputs.front());
  }

  bool is_short(NodeId id) const {
    const NodeCost& cost = now_.analysis.costs.nodes[id];
    return cost.work_s > 0 && cost.work_s < kLongCall_s * cost.calls;
  }

  std::vector<NodeId> run_from(NodeId id) const {
    std::vector<NodeId> run = {id};
    while (readers_[run.back()].size() == 1 && run.size() < kMostNodesInside) {
      const NodeId above = readers_[run.back()].front();
      if (!may_go_inside(above)) break;
      run.push_back(above);
    }
    return run;
  }

  // The batch right above a run that loses no element.
  std::optional<NodeId> batch_over(const std::vector<NodeId>& run) const {
    const bool drops =
        std::ranges::any_of(run, [&](NodeId id) { return p_[id].kind == Kind::kFilter; });
    if (drops || readers_[run.back()].size() != 1) return {};
    const NodeId above = readers_[run.back()].front();
    const Node& batch = p_[above];
    const bool plain = batch.op == "BatchDatasetV2" || batch.op == "PaddedBatchDatasetV2";
    return plain && batch.scalars_known && !batch.outer && batch.count.value_or(0) > 0
               ? std::optional(above)
               : std::nullopt;
  }

  // Cores that have enough chunks of an epoch.
  double busy_cores(NodeId source) const {
    const Cardinality& epoch = now_.analysis.nodes[source].elements_per_epoch;
    if (epoch.kind != Cardinality::Kind::kKnown) return cores_;
    return std::min(cores_, std::floor(epoch.elements / (kChunksOfACore * kLeastElements)));
  }

  // No elements: there are too few, or they are too large.
  ChunkShape shape_of(const std::vector<NodeId>& run, NodeId source) const {
    const Analysis& a = now_.analysis;
    double work_s = 0, bytes = a.nodes[source].bytes_per_element;
    for (const NodeId id : run) {
      work_s += a.costs.nodes[id].work_s;
      bytes = std::max(bytes, a.nodes[id].bytes_per_element);
    }
    const double each_s = work_s / std::max(a.costs.nodes[source].elements, 1e-9);
    const double cores = busy_cores(source);
    const double per_root = a.costs.nodes[source].elements;
    double most = std::min(
        {kMostElements, kMostChunk_bytes / std::max(bytes, 1.0), kMostRootElements * per_root});
    const Cardinality& epoch = a.nodes[source].elements_per_epoch;
    if (epoch.kind == Cardinality::Kind::kKnown)
      most = std::min(most, epoch.elements / (kChunksOfACore * std::max(cores, 1.0)));
    if (per_root < kLeastOfARoot || cores < 2 || most < kLeastElements || !(each_s > 0)) return {};
    const double wanted = std::clamp(kChunkWork_s / each_s, kLeastElements, most);
    const double step = std::exp2(std::floor(std::log2(wanted)) - 2);  // round numbers: 28, 448
    return {static_cast<std::int64_t>(std::floor(wanted / step) * step),
            static_cast<std::int64_t>(cores) + 2};
  }

  void offer_run(NodeId first, MoveCandidates& found) {
    std::vector<NodeId> run = run_from(first);
    const NodeId source = p_[first].inputs.front();
    const bool worth_it = std::ranges::all_of(
        run, [&](NodeId id) { return is_short(id) && !never_ran(p_, now_.analysis, id); });
    if (!worth_it || now_.analysis.costs.nodes[source].elements <= 0) return;
    if (!p_[source].equal_shapes) {
      found.illegal.push_back({edit_word(EditKind::kInsertChunks), p_[source].name,
                               "its elements may differ in shape, so they make no chunk"});
      return;
    }
    ChunkShape shape = shape_of(run, source);
    if (shape.elements == 0) return;
    if (const auto batch = batch_over(run)) {
      const std::int64_t n = *p_[*batch].count;
      const double whole = std::ceil(static_cast<double>(shape.elements) / static_cast<double>(n));
      if (whole * static_cast<double>(n) <= 2 * static_cast<double>(shape.elements)) {
        shape.elements = static_cast<std::int64_t>(whole) * n;
        run.push_back(*batch);
      }
    }
    offer(source, run, shape, found);
  }

  void offer(NodeId source, const std::vector<NodeId>& run, const ChunkShape& shape,
             MoveCandidates& found) const {
    MoveCandidate candidate;
    candidate.node = p_[source].name;
    candidate.moved = now_;
    const std::string chunks = chunks_name(candidate.node);
    put_chunks_above(candidate.moved, source, shape);
    candidate.edits.push_back(
        {"",
         EditKind::kInsertChunks,
         candidate.node,
         std::to_string(shape.at_once),
         shape.elements,
         fmt::format("the functions above are handed {} elements at a time, and run for {} such "
                     "chunks side by side",
                     shape.elements, shape.at_once - 2),
         {},
         ""});
    std::set<std::string> changed = {chunks, chunk_name(candidate.node)};
    for (const NodeId id : run) {
      const std::string& name = p_[id].name;
      put_inside(candidate.moved, *find_node(candidate.moved.pipeline, name),
                 *find_node(candidate.moved.pipeline, chunks));
      candidate.edits.push_back({"",
                                 EditKind::kMoveIntoFunction,
                                 name,
                                 chunks,
                                 {},
                                 "it works on one chunk after the other",
                                 {},
                                 ""});
      changed.insert(name);
    }
    refresh(candidate.moved, changed);
    found.legal.push_back(std::move(candidate));
  }

  const Moved& now_;
  const Pipeline& p_;
  double cores_;
  PerNode<std::vector<NodeId>> readers_;
};

}  // namespace

MoveCandidates find_chunks(const Moved& now, const OptimizeOptions& options) {
  return ChunkFinder(now, options).run();
}

}  // namespace plumber
