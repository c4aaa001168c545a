// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/suggest.h"
#include "optimize/choices.h"
#include "optimize/fused_pairs.h"
#include "optimize/move_rules.h"
#include "optimize/new_nodes.h"
#include "optimize/partial_cache.h"
#include "optimize/problem.h"
#include "optimize/seeded_order.h"
#include "optimize/unfused.h"

namespace plumber {
namespace {

/// Why an edit would change the elements; empty: it does not.
struct Fault {
  std::string reason;
  std::optional<Permission> permission;  // with it the edit may be made
};

/// The pipeline as the edits so far have left it, as far as later ones are judged by it.
class SoFar {
 public:
  explicit SoFar(const Pipeline& pipeline) : below_(pipeline.size()), above_(pipeline.size()) {
    for (std::size_t i = 0; i < pipeline.size(); ++i) {
      const NodeId id{static_cast<std::int32_t>(i)};
      if (!pipeline[id].inputs.empty()) join(pipeline[id].inputs.front(), id);
    }
    for (std::size_t i = 0; i < pipeline.size(); ++i)
      if (pipeline.nodes[i].unfused) fuse(*above_[static_cast<NodeId>(i)]);
  }

  std::optional<NodeId> below(NodeId id) const { return below_[id]; }

  /// The node whose elements, as written, hold all randomness that now stands below `id`.
  NodeId whole(NodeId id) const { return found_or(over_, id, id); }

  /// The node whose function `id` calls.
  NodeId caller(NodeId id) const { return found_or(fused_, id, id); }

  void remove(NodeId id) {
    join(below_[id], above_[id]);
    below_[id] = above_[id] = std::nullopt;
  }

  void remove_below(NodeId id) {
    if (below_[id]) remove(*below_[id]);
  }

  void raise(NodeId map, NodeId over) {
    if (below_[over] != map) return;
    swap(map, over);
    over_[map] = whole(over);
  }

  void lower(NodeId map, NodeId under) {
    if (below_[map] != under) return;
    swap(under, map);
    over_[map] = below_[map] ? whole(*below_[map]) : map;
  }

  /// The map that a batch would take in.
  NodeId map_below(NodeId batch) const { return below_[batch].value_or(batch); }

  void unfuse(NodeId batch) {
    const NodeId map = caller(batch);
    if (map == batch || !unfused_.insert(batch).second) return;
    join(below_[batch], map);
    join(map, batch);
  }

  /// Something new stands right above the node.
  void put_above(NodeId id) { covered_.insert(id); }

  std::set<NodeId> shuffles_with_repeat(const Pipeline& pipeline) const {
    return plumber::shuffles_with_repeat(pipeline, [this](NodeId id) {
      const std::optional<NodeId> n = below(id);
      return n && covered_.contains(*n) ? std::nullopt : n;
    });
  }

  /// What an edit that moves `id` means: the map that was taken out of it, until that has gone.
  NodeId moving(NodeId id) const {
    return unfused_.contains(id) && below_[id] == caller(id) ? caller(id) : id;
  }

  void fuse(NodeId batch) {
    fused_[batch] = map_below(batch);
    unfused_.erase(batch);
    remove_below(batch);
  }

 private:
  using Table = std::map<NodeId, NodeId>;

  static NodeId found_or(const Table& table, NodeId id, NodeId otherwise) {
    const auto found = table.find(id);
    return found == table.end() ? otherwise : found->second;
  }

  void swap(NodeId lower, NodeId above) {
    const auto source = below_[lower];
    const auto reader = above_[above];
    join(source, above);
    join(above, lower);
    join(lower, reader);
  }

  void join(std::optional<NodeId> below, std::optional<NodeId> above) {
    if (below) above_[*below] = above;
    if (above) below_[*above] = below;
  }

  PerNode<std::optional<NodeId>> below_, above_;  // first inputs, and who reads them
  Table over_;   // map -> the topmost node that it went above, else what it stands over
  Table fused_;  // batch -> the map that it took in
  std::set<NodeId> unfused_;  // batches whose map stands below them now
  std::set<NodeId> covered_;  // below what is new
};

std::set<Permission> permissions_of(const Plan& plan, const std::string& name) {
  std::set<Permission> permissions;
  for (const std::string& word : plan.permissions) {
    const auto permission = permission_of(word);
    if (!permission) {
      throw Error(ErrorKind::kInput, name, fmt::format("there is no permission '{}'", word),
                  did_you_mean(word, permission_words()));
    }
    permissions.insert(*permission);
  }
  return permissions;
}

Fault fault_of_cache(const NodeAnalysis& node) {
  const CacheVerdict& verdict = node.cache;
  const bool endless = node.elements_per_epoch.kind == Cardinality::Kind::kInfinite;
  const bool harmless = verdict.cache_class == CacheClass::kExact && !endless;
  if (verdict.legal || harmless) return {};
  return {"no cache can stand there: " + verdict.reason, permission_of(verdict.allow)};
}

Fault fault_of_calls(const Problem& problem, NodeId id, const EditValue& value) {
  const std::int64_t* calls = std::get_if<std::int64_t>(&value);
  if (calls != nullptr && *calls == 1) return {};
  return {why_elements_would_change(problem, id), Permission::kStatefulParallel};
}

Fault fault_of_buffer(const Node& node, const EditValue& value) {
  const bool shuffles = node.kind == Kind::kShuffle || node.kind == Kind::kShuffleRepeat;
  const std::int64_t* size = std::get_if<std::int64_t>(&value);
  if (!shuffles || size == nullptr || *size == node.buffer_size) return {};
  if (node.fixed_seed)
    return {"another buffer makes another order of its seed", Permission::kReshuffle};
  if (*size >= node.buffer_size.value_or(0)) return {};
  return {fmt::format("it shuffles within {} elements now; fewer mix them less", *node.buffer_size),
          Permission::kReshuffle};
}

Fault fault_of_removal(const Problem& problem, NodeId id) {
  const Node& node = problem.node(id);
  if (node.kind == Kind::kUnbatch) {
    const Objection objection = objection_to_drop_pair(*problem.pipeline, id);
    return {objection.reason, objection.permission};
  }
  if (node.kind != Kind::kCache || node.inputs.empty()) return {};
  const CacheVerdict& below = problem.analysis->nodes[node.inputs.front()].cache;
  if (below.cache_class == CacheClass::kExact) return {};
  return {"without this cache its elements change from epoch to epoch", Permission::kUnfreeze};
}

std::optional<NodeId> place_of(const Problem& problem, const std::string& name) {
  const auto found = problem.by_name.find(name);
  return found == problem.by_name.end() ? std::nullopt : std::optional(found->second);
}

Fault fault_of_reorder(const Problem& problem, NodeId id, const std::string& other) {
  const auto to = place_of(problem, other);
  if (!to) return {};  // the rewriter says so
  const Pipeline& pipeline = *problem.pipeline;
  // Either way round, and below the map or above it.
  const bool map_first = pipeline[id].kind == Kind::kMap && pipeline[*to].kind != Kind::kMap;
  const Objection objection =
      map_first ? objection_to_reorder(pipeline, id, *to) : objection_to_reorder(pipeline, *to, id);
  return {objection.reason, objection.permission};
}

Fault fault_of_convert(const Problem& problem, const SoFar& so_far, const Edit& edit, NodeId id) {
  if (edit.to == "RebatchDatasetV2") return {};
  if (edit.to == "MapAndBatchDataset") id = so_far.map_below(id);
  return fault_of_calls(problem, so_far.caller(id), edit.value);
}

Fault fault_of_cut(const Problem& problem, NodeId id, const std::string& files) {
  const auto list = place_of(problem, files);
  if (!list) return {};  // the rewriter says so
  return {why_no_cut(*problem.pipeline, *problem.analysis, id, *list), {}};
}

Fault fault_of_move(const Problem& problem, const SoFar& so_far, const Edit& edit, NodeId id) {
  id = so_far.moving(id);
  const bool into_chunks = edit.to.starts_with(chunks_name(""));
  if (into_chunks && problem.node(id).kind == Kind::kBatch) return {};
  if (into_chunks) return {objection_to_chunks(*problem.pipeline, id), {}};
  const auto to = place_of(problem, edit.to);
  if (!to) return {};
  const Objection objection = objection_to_move_inside(*problem.pipeline, id, *to);
  return {objection.reason, objection.permission};
}

Fault fault_of_cycle(const Problem& problem, NodeId id) {
  const std::string why = why_not_lengthened(*problem.pipeline, id);
  if (!why.empty()) return {why, {}};
  return {"other elements would follow each other", Permission::kReorderFiles};
}

Fault fault_of_options(const Problem& problem, const Edit& edit) {
  const bool* flag = std::get_if<bool>(&edit.value);
  if (edit.to == "experimental_optimization.map_and_batch_fusion" && flag != nullptr && !*flag)
    return {why_errors_matter(*problem.pipeline), {}};
  if (edit.to != "deterministic" || flag == nullptr || *flag) return {};
  return {"the order of the elements would be left to chance", Permission::kNondeterministic};
}

Fault fault_of(const Problem& problem, const SoFar& so_far, const Edit& edit) {
  const auto found = problem.by_name.find(edit.node);
  const bool on_node = edit.kind != EditKind::kSetOptions;
  if (on_node && found == problem.by_name.end()) return {};  // the rewriter says so
  const NodeId id = on_node ? found->second : NodeId{};
  switch (edit.kind) {
    case EditKind::kInsertCache:
      return fault_of_cache(problem.analysis->nodes[so_far.whole(id)]);
    case EditKind::kInsertPartialCache:
      return fault_of_cut(problem, so_far.whole(id), edit.to);
    case EditKind::kConvert:
      return fault_of_convert(problem, so_far, edit, id);
    case EditKind::kMoveIntoFunction:
      return fault_of_move(problem, so_far, edit, id);
    case EditKind::kReorder:
      return fault_of_reorder(problem, id, edit.to);
    case EditKind::kPassThroughFilter:
      if (std::holds_alternative<std::monostate>(edit.value)) return {};
      return fault_of_calls(problem, id, edit.value);
    case EditKind::kParallelUnbounded:
      if (const std::string why = why_pair_stays(problem, id); !why.empty()) return {why, {}};
      [[fallthrough]];
    case EditKind::kSetParallelism:
    case EditKind::kParallelInline:
      return fault_of_calls(problem, so_far.caller(id), edit.value);
    case EditKind::kSetBuffer:
      return fault_of_buffer(problem.node(id), edit.value);
    case EditKind::kRemove:
      return fault_of_removal(problem, id);
    case EditKind::kSetOptions:
      return fault_of_options(problem, edit);
    case EditKind::kLengthenCycle:
      return fault_of_cycle(problem, id);
    case EditKind::kUnfuse:
      return {why_errors_matter(*problem.pipeline), {}};
    case EditKind::kSequential:
    case EditKind::kInline:
    case EditKind::kInsertPrefetch:
    case EditKind::kRehomeCache:
    case EditKind::kInsertChunks:
    case EditKind::kBalance:
      return {};
  }
  return {};
}

std::vector<NodeId> changed(const std::set<NodeId>& before, const std::set<NodeId>& after) {
  std::vector<NodeId> ids;
  std::ranges::set_symmetric_difference(before, after, std::back_inserter(ids));
  return ids;
}

// Makes the edit where it moves, fuses or removes what later ones are judged by.
void note(const Problem& problem, SoFar& so_far, const Edit& edit) {
  const auto id = place_of(problem, edit.node), to = place_of(problem, edit.to);
  if (!id) return;
  if (edit.kind == EditKind::kReorder && to) {
    const bool node_first = so_far.below(*to) == id;  // either way round
    const NodeId lower = node_first ? *id : *to, above = node_first ? *to : *id;
    if (problem.node(lower).kind == Kind::kMap)
      so_far.raise(lower, above);
    else
      so_far.lower(above, lower);
  }
  if (edit.kind == EditKind::kInsertPrefetch || edit.kind == EditKind::kInsertCache ||
      edit.kind == EditKind::kInsertChunks)
    so_far.put_above(*id);
  if (edit.kind == EditKind::kUnfuse) so_far.unfuse(*id);
  if (edit.kind == EditKind::kConvert && edit.to == "MapAndBatchDataset") so_far.fuse(*id);
  if (edit.kind == EditKind::kConvert && edit.to == "RebatchDatasetV2") so_far.remove_below(*id);
  if (edit.kind == EditKind::kRemove && problem.node(*id).kind == Kind::kUnbatch) {
    const auto is_map = [&](NodeId below) { return problem.node(below).kind == Kind::kMap; };
    while (so_far.below(*id) && is_map(*so_far.below(*id))) so_far.remove_below(*id);
    so_far.remove_below(*id);  // the batch
  }
  if (edit.kind == EditKind::kRemove) so_far.remove(*id);
  if (edit.kind == EditKind::kMoveIntoFunction) so_far.remove(so_far.moving(*id));
}

// Maps that the plan takes out of batches are nodes of their own from the start.
Moved with_maps_taken_out(const Pipeline& pipeline, const Analysis& analysis, const Plan& plan) {
  Moved moved{pipeline, analysis};
  for (const Edit& edit : plan.edits) {
    if (edit.kind != EditKind::kUnfuse) continue;
    const auto id = find_node(moved.pipeline, edit.node);
    if (!id || !is_fused(moved.pipeline[*id])) continue;
    take_map_out(moved, *id);
    refresh(moved, {edit.node, unfused_map_name(edit.node)});
  }
  return moved;
}

// A map that the plan has put into a batch before it takes it out has the name that it had.
std::string traced_name(const Problem& problem, const SoFar& so_far, const std::string& name) {
  const std::string taken_out = unfused_map_name("");
  if (place_of(problem, name) || !name.starts_with(taken_out)) return name;
  const auto batch = place_of(problem, name.substr(taken_out.size()));
  return batch ? problem.node(so_far.caller(*batch)).name : name;
}

}  // namespace

void check_plan(const Pipeline& pipeline, const Analysis& analysis, const Plan& plan,
                const std::string& name) {
  OptimizeOptions options;
  options.permissions = permissions_of(plan, name);
  const double cores = std::max(2.0, pipeline.machine.cores);  // AUTOTUNE runs calls side by side
  const Moved moved = with_maps_taken_out(pipeline, analysis, plan);
  const Problem problem = make_problem(moved.pipeline, moved.analysis, options, {cores});
  SoFar so_far(moved.pipeline);
  const std::set<NodeId> with_repeat = so_far.shuffles_with_repeat(moved.pipeline);
  std::string message;
  for (const Edit& edit : plan.edits) {
    Edit named = edit;
    for (std::string* text : {&named.node, &named.to}) *text = traced_name(problem, so_far, *text);
    const Fault fault = fault_of(problem, so_far, named);
    note(problem, so_far, named);
    const bool allowed = fault.permission && options.permissions.contains(*fault.permission);
    if (fault.reason.empty() || allowed) continue;
    message += fmt::format("\n  edit {} ({}): node '{}': {}", edit.id, edit_word(edit.kind),
                           edit.node, fault.reason);
    if (fault.permission) {
      message += fmt::format(" (allowed by the permission {})", permission_word(*fault.permission));
    }
  }
  for (const NodeId id : changed(with_repeat, so_far.shuffles_with_repeat(moved.pipeline)))
    message += fmt::format("\n  all edits: node '{}': {}", moved.pipeline[id].name, kOtherOrder);
  if (message.empty()) return;
  throw Error(ErrorKind::kInput, name, "the program's elements would change:" + message,
              "drop these edits, or add what you allow to \"permissions\"");
}

}  // namespace plumber
