// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/suggest.h"
#include "optimize/choices.h"
#include "optimize/move_rules.h"
#include "optimize/partial_cache.h"
#include "optimize/problem.h"

namespace plumber {
namespace {

/// Why an edit would change the elements; empty: it does not.
struct Fault {
  std::string reason;
  std::optional<Permission> permission;  // with it the edit may be made
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
  if (!shuffles || size == nullptr || *size >= node.buffer_size.value_or(0)) return {};
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
  // Either way round: the map is the one below.
  const bool map_first = pipeline[id].kind == Kind::kMap && pipeline[*to].kind != Kind::kMap;
  const Objection objection =
      map_first ? objection_to_reorder(pipeline, id, *to) : objection_to_reorder(pipeline, *to, id);
  return {objection.reason, objection.permission};
}

Fault fault_of_convert(const Problem& problem, const Edit& edit, NodeId id) {
  if (edit.to == "RebatchDatasetV2") return {};
  const std::vector<NodeId>& inputs = problem.node(id).inputs;
  if (edit.to == "MapAndBatchDataset" && !inputs.empty()) id = inputs.front();
  return fault_of_calls(problem, id, edit.value);
}

Fault fault_of_move(const Problem& problem, const Edit& edit, NodeId id) {
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

Fault fault_of_options(const Edit& edit) {
  const bool* flag = std::get_if<bool>(&edit.value);
  if (edit.to != "deterministic" || flag == nullptr || *flag) return {};
  return {"the order of the elements would be left to chance", Permission::kNondeterministic};
}

Fault fault_of(const Problem& problem, const Edit& edit) {
  const auto found = problem.by_name.find(edit.node);
  const bool on_node = edit.kind != EditKind::kSetOptions;
  if (on_node && found == problem.by_name.end()) return {};  // the rewriter says so
  const NodeId id = on_node ? found->second : NodeId{};
  switch (edit.kind) {
    case EditKind::kInsertCache:
      return fault_of_cache(problem.analysis->nodes[id]);
    case EditKind::kConvert:
      return fault_of_convert(problem, edit, id);
    case EditKind::kMoveIntoFunction:
      return fault_of_move(problem, edit, id);
    case EditKind::kReorder:
      return fault_of_reorder(problem, id, edit.to);
    case EditKind::kPassThroughFilter:
      if (std::holds_alternative<std::monostate>(edit.value)) return {};
      return fault_of_calls(problem, id, edit.value);
    case EditKind::kSetParallelism:
    case EditKind::kParallelInline:
      return fault_of_calls(problem, id, edit.value);
    case EditKind::kSetBuffer:
      return fault_of_buffer(problem.node(id), edit.value);
    case EditKind::kRemove:
      return fault_of_removal(problem, id);
    case EditKind::kSetOptions:
      return fault_of_options(edit);
    case EditKind::kSequential:
    case EditKind::kInline:
    case EditKind::kUnfuse:
    case EditKind::kInsertPrefetch:
    case EditKind::kRehomeCache:
    case EditKind::kInsertPartialCache: {
      const auto files = place_of(problem, edit.to);
      if (!files) return {};
      return {why_no_cut(*problem.pipeline, *problem.analysis, id, *files), {}};
    }
    case EditKind::kLengthenCycle:
      return fault_of_cycle(problem, id);
    case EditKind::kInsertChunks:
    case EditKind::kBalance:
      return {};
  }
  return {};
}

}  // namespace

void check_plan(const Pipeline& pipeline, const Analysis& analysis, const Plan& plan,
                const std::string& name) {
  OptimizeOptions options;
  options.permissions = permissions_of(plan, name);
  const double cores = std::max(2.0, pipeline.machine.cores);  // AUTOTUNE runs calls side by side
  const Problem problem = make_problem(pipeline, analysis, options, {cores});
  std::string message;
  for (const Edit& edit : plan.edits) {
    const Fault fault = fault_of(problem, edit);
    const bool allowed = fault.permission && options.permissions.contains(*fault.permission);
    if (fault.reason.empty() || allowed) continue;
    message += fmt::format("\n  edit {} ({}): node '{}': {}", edit.id, edit_word(edit.kind),
                           edit.node, fault.reason);
    if (fault.permission) {
      message += fmt::format(" (allowed by the permission {})", permission_word(*fault.permission));
    }
  }
  if (message.empty()) return;
  throw Error(ErrorKind::kInput, name, "the program's elements would change:" + message,
              "drop these edits, or add what you allow to \"permissions\"");
}

}  // namespace plumber
