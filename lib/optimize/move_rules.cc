// SPDX-License-Identifier: Apache-2.0
#include "optimize/move_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/randomness.h"
#include "optimize/problem.h"
#include "pipeline/op_effects.h"

namespace plumber {
namespace {

bool writes_state(const Node& node) {
  const auto writes = [](const Function& function) {
    return std::ranges::any_of(function.facts.stateful, [](const std::string& op) {
      return op_effect(op) == OpEffect::kStateWrite;
    });
  };
  return (node.function && writes(*node.function)) ||
         std::ranges::any_of(node.other_functions, writes);
}

std::string calls(const std::string& op) { return "its function calls " + op; }

// Draws apart, which change nothing where any value is as good as any other.
std::string why_calls_matter(const Pipeline& pipeline, const FunctionFacts& facts) {
  if (!facts.stateful.empty()) return calls(facts.stateful.front()) + ", which has state";
  if (!facts.python.empty()) return calls(facts.python.front()) + ": Python may have effects";
  if (!facts.missing.empty()) return calls(facts.missing.front()) + ", which is not in the program";
  if (!facts.state_reads.empty() && std::ranges::any_of(pipeline.nodes, writes_state))
    return calls(facts.state_reads.front()) + " while the program writes variables or tables";
  return "";
}

std::string why_not_pure(const Pipeline& pipeline, const FunctionFacts& facts) {
  if (!facts.random.empty()) return calls(facts.random.front()) + ", which draws by chance";
  return why_calls_matter(pipeline, facts);
}

std::string why_not_over(const Node& map, const Node& above) {
  switch (above.kind) {
    case Kind::kTake:
    case Kind::kSkip:
    case Kind::kShard:
    case Kind::kRepeat:
    case Kind::kPrefetch:
    case Kind::kShuffle:
    case Kind::kCache:
      return "";
    case Kind::kBatch:
      if (!is_plain_batch(above.op)) return above.op + " pads or thins out what the map makes";
      if (map.on_batches) return "it works on batches already, the last of which may be shorter";
      if (map.function->why_not_batched.empty()) return "";
      return "the map's function does not work on batches: " + map.function->why_not_batched;
    default:
      return fmt::format("{} looks at more than the place of an element", above.op);
  }
}

// The same elements come out, or the same sets of rows in other batches, in whatever order they
// come in.
bool keeps_any_order(Kind kind) {
  switch (kind) {
    case Kind::kMap:
    case Kind::kFilter:
    case Kind::kBatch:
    case Kind::kMapBatch:
    case Kind::kUnbatch:
    case Kind::kFlatMap:
    case Kind::kShuffle:
    case Kind::kShuffleRepeat:
    case Kind::kRepeat:
    case Kind::kPrefetch:
    case Kind::kCache:
    case Kind::kPass:
    case Kind::kWrapper:
      return true;
    default:
      return false;
  }
}

}  // namespace

// An error would be dropped with its element, and so would another element than before. All other
// programs end with it, at most a chunk earlier (docs/tensorflow.md, Verify).
std::string why_errors_matter(const Pipeline& pipeline) {
  const auto ignores = [](const Node& node) {
    return op_traits(node.op).op == "IgnoreErrorsDataset";
  };
  const auto found = std::ranges::find_if(pipeline.nodes, ignores);
  if (found == pipeline.nodes.end()) return "";
  return fmt::format("{} drops elements whose function fails: others would be counted",
                     found->name);
}

std::string why_not_copied(const Node& node) {
  if (node.scalars_known) return "";
  return "a scalar input of it is computed when the program runs";
}

std::string why_not_exact(const Pipeline& pipeline, NodeId id) {
  const Node& node = pipeline[id];
  if (!node.function) return "its function is not known";
  if (!node.inner.empty()) return "its function makes data sets";
  const bool parallel = node.threading == Threading::kParallelCalls ||
                        node.threading == Threading::kParallelInterleave;
  if (parallel && !node.deterministic) return "its order is left to chance";
  return why_not_pure(pipeline, node.function->facts);
}

Objection objection_to_reorder(const Pipeline& pipeline, NodeId map, NodeId above) {
  const Node& below = pipeline[map];
  if (below.kind != Kind::kMap) return {fmt::format("{} below it is no 1:1 map", said(below)), {}};
  if (const std::string errors = why_errors_matter(pipeline); !errors.empty()) return {errors, {}};
  const std::string impure = why_not_exact(pipeline, map);
  if (!impure.empty()) {
    const bool frozen = pipeline[above].kind == Kind::kCache && below.function &&
                        !below.function->facts.random.empty() &&
                        below.function->facts.stateful.empty();
    const auto permission = frozen ? std::optional(Permission::kUnfreeze) : std::nullopt;
    return {fmt::format("{} below it: {}", said(below), impure), permission};
  }
  const std::string other = why_not_over(below, pipeline[above]);
  if (!other.empty()) return {fmt::format("{} below it: {}", said(below), other), {}};
  return {};
}

Objection objection_to_move_inside(const Pipeline& pipeline, NodeId map, NodeId interleave) {
  const Node& outer = pipeline[interleave];
  if (pipeline[map].kind != Kind::kMap) return {said(pipeline[map]) + " is no 1:1 map", {}};
  if (outer.threading == Threading::kParallelInterleave && !outer.deterministic)
    return {said(outer) + " leaves its order to chance", {}};
  if (const std::string errors = why_errors_matter(pipeline); !errors.empty()) return {errors, {}};
  if (const std::string impure = why_not_exact(pipeline, map); !impure.empty()) return {impure, {}};
  const FunctionFacts& facts = pipeline[map].function->facts;
  if (!facts.control_flow.empty())
    return {fmt::format("its function reaches control flow ({}), which only runs dispatched",
                        facts.control_flow.front()),
            {}};
  return {why_not_copied(pipeline[map]), {}};
}

std::string objection_to_chunks(const Pipeline& pipeline, NodeId id) {
  const Node& node = pipeline[id];
  if (node.kind != Kind::kMap && node.kind != Kind::kFilter)
    return fmt::format("{} is no map, filter or batch", said(node));
  if (!node.function) return "its function is not known";
  const FunctionFacts& facts = node.function->facts;
  if (!node.deterministic && node.threading == Threading::kParallelCalls)
    return "its order is left to chance";
  if (!facts.seeded.empty())
    return calls(facts.seeded.front()) + " with a seed, and would draw the same in each chunk";
  if (!facts.control_flow.empty() || facts.recursive)
    return "its function reaches control flow, which only runs dispatched";
  if (const std::string errors = why_errors_matter(pipeline); !errors.empty()) return errors;
  if (const std::string computed = why_not_copied(node); !computed.empty()) return computed;
  return why_calls_matter(pipeline, facts);
}

std::string why_not_lengthened(const Pipeline& pipeline, NodeId interleave) {
  if (pipeline[interleave].outer) return "it stands inside a function";
  const PerNode<std::vector<NodeId>> readers = consumers_of(pipeline);
  for (NodeId n = interleave; n != pipeline.root;) {
    if (readers[n].size() != 1) return fmt::format("several nodes read {}", said(pipeline[n]));
    n = readers[n].front();
    const Node& above = pipeline[n];
    if (!keeps_any_order(above.kind) || above.inputs.size() != 1)
      return fmt::format("{} above it looks at the order of the elements", said(above));
    if (!above.function) continue;
    const FunctionFacts& facts = above.function->facts;
    const std::vector<std::string>& draws = facts.seeded.empty() ? facts.stateful : facts.seeded;
    if (!draws.empty())
      return fmt::format("{} above it would give other elements what it draws in order ({})",
                         said(above), draws.front());
  }
  return "";
}

NodeId below_identities(const Pipeline& pipeline, NodeId id) {
  const auto changes_nothing = [&](const Node& node) {
    return node.kind == Kind::kMap && node.inputs.size() == 1 && node.function &&
           node.function->facts.identity && node.deterministic;
  };
  if (pipeline[id].inputs.empty()) return id;
  NodeId below = pipeline[id].inputs.front();
  while (changes_nothing(pipeline[below])) below = pipeline[below].inputs.front();
  return below;
}

Objection objection_to_drop_pair(const Pipeline& pipeline, NodeId unbatch) {
  const Node* batch = &pipeline[below_identities(pipeline, unbatch)];
  if (!is_plain_batch(batch->op)) return {"no plain batch stands below it", {}};
  if (!batch->scalars_known)
    return {said(*batch) + " computes when it runs whether it drops a partial last batch", {}};
  if (batch->drop_remainder)
    return {said(*batch) + " drops a partial last batch, whose elements would come back", {}};
  if (batch->threading == Threading::kParallelCalls && !batch->deterministic)
    return {said(*batch) + " leaves its order to chance", {}};
  return objection_to_rebatch(pipeline, unbatch);
}

Objection objection_to_rebatch(const Pipeline& pipeline, NodeId unbatch) {
  if (pipeline[unbatch].plain_tensors) return {};
  return {
      "its elements are not known to be plain tensors: sparse and ragged ones are cut otherwise",
      {}};
}

}  // namespace plumber
