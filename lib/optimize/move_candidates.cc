// SPDX-License-Identifier: Apache-2.0
#include "optimize/move_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_format.h"
#include "ops/randomness.h"
#include "optimize/balance.h"
#include "optimize/longer_cycles.h"
#include "optimize/lowered_maps.h"
#include "optimize/move_rules.h"
#include "optimize/new_nodes.h"
#include "optimize/partial_cache.h"
#include "optimize/problem.h"

namespace plumber {
namespace {

// What a plan may take besides a partial cache: calls in flight, prefetches.
constexpr double kShareOfSpare = 0.9;

constexpr const char* kHandingCosts =
    "handing its elements to another thread costs more than working beside it saves";
constexpr int kMostLifted = 4;  // maps that one node goes below at once

bool sinks(Kind kind) {
  return kind == Kind::kShard || kind == Kind::kSkip || kind == Kind::kTake ||
         kind == Kind::kShuffle || kind == Kind::kBatch;
}

// What a map may pass on its way up to the node that sinks below it.
bool is_passed(Kind kind) {
  return kind == Kind::kShard || kind == Kind::kSkip || kind == Kind::kTake ||
         kind == Kind::kShuffle || kind == Kind::kRepeat || kind == Kind::kPrefetch;
}

class Finder {
 public:
  Finder(const Moved& now, const OptimizeOptions& options)
      : now_(now), p_(now.pipeline), options_(options), readers_(consumers_of(p_)) {}

  MoveCandidates run() {
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (p_[id].outer || p_[id].inputs.empty()) continue;
      if (sinks(p_[id].kind)) sink(id);
      if (p_[id].kind == Kind::kShuffle) add_lowered_maps(now_, options_, id, found_);
      if (p_[id].kind == Kind::kCache) sink_cache(id), drop_cache(id);
      if (p_[id].kind == Kind::kPrefetch) drop_prefetch(id);
      if (p_[id].kind == Kind::kUnbatch) drop_pair(id);
      if (p_[id].op == "BatchDatasetV2") rebatch(id);
      if (p_[id].kind == Kind::kInterleave)
        move_inside(id), add_longer_cycles(now_, options_, id, found_);
      if (p_[id].kind == Kind::kConcatenate) balance(id);
      if (options_.allow_cache) cut_files(id);
    }
    drop_all_prefetches();
    return std::move(found_);
  }

 private:
  NodeId below(NodeId id) const { return p_[id].inputs.front(); }

  bool allowed(const Objection& objection) const {
    return objection.reason.empty() ||
           (objection.permission && options_.permissions.contains(*objection.permission));
  }

  void reject(EditKind kind, NodeId id, std::string why,
              std::optional<Permission> permission = {}) {
    if (permission) why += fmt::format(" (--allow {})", permission_word(*permission));
    found_.illegal.push_back({edit_word(kind), p_[id].name, std::move(why)});
  }

  static Edit edit(EditKind kind, const Node& node, const std::string& to, std::string reason) {
    return {"", kind, node.name, to, {}, std::move(reason), {}, ""};
  }

  void offer(Moved moved, std::vector<Edit> edits, NodeId id) {
    std::set<std::string> changed;
    for (const Edit& edit : edits) {
      if (edit.kind == EditKind::kReorder) changed.insert({edit.node, edit.to});
      if (edit.kind == EditKind::kMoveIntoFunction) changed.insert(edit.to);
      // What lies below a cache may be cached once that is gone.
      if (edit.kind == EditKind::kRemove && p_[id].kind == Kind::kCache)
        for (const Node& node : moved.pipeline.nodes) changed.insert(node.name);
    }
    refresh(moved, changed);
    MoveCandidate candidate;
    candidate.moved = std::move(moved);
    candidate.edits = std::move(edits);
    candidate.node = p_[id].name;
    found_.legal.push_back(std::move(candidate));
  }

  // The nearest map below `id` and the nodes between, top first; empty path end: none.
  struct Path {
    std::optional<NodeId> map;
    std::vector<NodeId> between;  // top first
    std::string why;
  };

  Path path_to_map(NodeId id) const {
    Path path;
    for (NodeId n = below(id);; n = below(n)) {
      const Node& node = p_[n];
      if (readers_[n].size() > 1) {
        path.why = fmt::format("other nodes read {} too", said(node));
        return path;
      }
      if (node.kind == Kind::kMap) {
        path.map = n;
        return path;
      }
      if (!is_passed(node.kind) || node.inputs.size() != 1) {
        path.why = fmt::format("{} stands between", said(node));
        return path;
      }
      path.between.push_back(n);
    }
  }

  // True if a map stands anywhere below on the chain: only then a refusal is worth a word.
  bool any_map_below(NodeId id) const {
    for (NodeId n = id; p_[n].inputs.size() == 1;) {
      n = below(n);
      if (p_[n].kind == Kind::kMap) return true;
    }
    return false;
  }

  std::string why_sunk(NodeId id, const Moved& after) const {
    const Node& node = p_[id];
    const auto still = find_node(after.pipeline, node.name);
    const std::string then = format_bytes(after.analysis.nodes[*still].bytes_per_element);
    const std::string before = format_bytes(now_.analysis.nodes[id].bytes_per_element);
    switch (node.kind) {
      case Kind::kBatch:
        return "the function of the map works on whole batches: one call instead of " +
               counted(static_cast<double>(node.count.value_or(1)), "call");
      case Kind::kShuffle:
        return "places are drawn without a look at the elements: " +
               (then == before ? "the map may as well be called after them"
                               : "it holds elements of " + then + " instead of " + before);
      case Kind::kTake:
        return "the map begins no calls whose results the take throws away when it has its " +
               counted(static_cast<double>(node.count.value_or(0)), "element");
      default:
        return "the map is not called for elements that are thrown away";
    }
  }

  static std::vector<std::string> names_of(const Pipeline& pipeline, std::vector<NodeId> ids) {
    std::vector<std::string> names;
    for (const NodeId id : ids) names.push_back(pipeline[id].name);
    return names;
  }

  // `over`: the nodes that the map passes, the lowest one first.
  static void lift(Moved& moved, const std::string& map, const std::vector<std::string>& over,
                   std::vector<Edit>& edits) {
    for (const std::string& name : over) {
      const NodeId above = *find_node(moved.pipeline, name);
      edits.push_back(edit(EditKind::kReorder, moved.pipeline[above], map,
                           fmt::format("the map goes above it, and on above {}", over.back())));
      swap_with_map(moved, *find_node(moved.pipeline, map), above);
    }
  }

  void sink(NodeId id) {
    Moved moved = now_;
    std::vector<Edit> edits;
    for (int lifted = 0; lifted < kMostLifted; ++lifted) {
      const Finder finder(moved, options_);
      const NodeId place = *find_node(moved.pipeline, p_[id].name);
      const Path path = finder.path_to_map(place);
      const std::string why = finder.why_not_lifted(place, path);
      if (!why.empty()) {
        if (lifted == 0 && any_map_below(id)) reject(EditKind::kReorder, id, why);
        return;
      }
      std::vector<NodeId> over = {path.between.rbegin(), path.between.rend()};
      over.push_back(place);
      const std::string map = moved.pipeline[*path.map].name;
      lift(moved, map, names_of(moved.pipeline, over), edits);
      edits.back().reason = why_sunk(id, moved);
      offer(moved, edits, id);
      found_.legal.back().for_memory = p_[id].kind == Kind::kShuffle;
      if (p_[id].kind == Kind::kTake)
        found_.legal.back().why_little =
            "a take stops asking, and of calls only those in flight are for what is cut off";
    }
  }

  std::string why_not_lifted(NodeId id, const Path& path) const {
    if (!path.map) return path.why;
    if (p_[*path.map].inputs.size() != 1) return "the map reads more than one data set";
    std::vector<NodeId> over = path.between;
    over.push_back(id);
    for (const NodeId above : over) {
      const Objection objection = objection_to_reorder(p_, *path.map, above);
      if (!allowed(objection)) return objection.reason;
    }
    return "";
  }

  // Above a random map a cache freezes what should be drawn anew.
  void sink_cache(NodeId id) {
    const NodeId map = below(id);
    const bool random =
        p_[map].kind == Kind::kMap && p_[map].function && !p_[map].function->facts.random.empty();
    if (!random || readers_[map].size() > 1 || !p_[id].cache_file.empty()) return;
    const Objection objection = objection_to_reorder(p_, map, id);
    if (!allowed(objection))
      return reject(EditKind::kReorder, id, objection.reason, objection.permission);
    if (never_ran(p_, now_.analysis, map)) return reject(EditKind::kReorder, id, kNotMeasured);
    Moved moved = now_;
    swap_with_map(moved, map, id);
    offer(std::move(moved),
          {edit(EditKind::kReorder, p_[id], p_[map].name,
                "what the map draws by chance is drawn anew in each epoch, as permitted")},
          id);
    found_.legal.back().asked_for = true;
  }

  static constexpr const char* kNotMeasured =
      "what lies below it did not run while the trace was recorded";

  void drop_cache(NodeId id) {
    const CacheVerdict& verdict = now_.analysis.nodes[below(id)].cache;
    if (verdict.cache_class != CacheClass::kExact)
      return reject(EditKind::kRemove, id, "what lies below it changes from epoch to epoch",
                    Permission::kUnfreeze);
    if (!p_[id].cache_file.empty())
      return reject(EditKind::kRemove, id, "it keeps its elements in a file for other runs");
    if (never_ran(p_, now_.analysis, below(id))) return reject(EditKind::kRemove, id, kNotMeasured);
    Moved moved = now_;
    forget_cache(moved, id);
    drop(std::move(moved), id, "making its elements again costs less than keeping them");
    found_.legal.back().for_memory = true;
  }

  void drop(Moved moved, NodeId id, const std::string& reason) {
    take_out(moved, id);
    offer(std::move(moved), {edit(EditKind::kRemove, p_[id], "", reason)}, id);
  }

  void drop_prefetch(NodeId id) { drop(now_, id, kHandingCosts); }

  // Two threads fewer may bring what one fewer does not.
  void drop_all_prefetches() {
    Moved moved = now_;
    std::vector<Edit> edits;
    std::optional<NodeId> last;
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (p_[id].outer || p_[id].kind != Kind::kPrefetch) continue;
      take_out(moved, *find_node(moved.pipeline, p_[id].name));
      edits.push_back(edit(EditKind::kRemove, p_[id], "", kHandingCosts));
      last = id;
    }
    if (edits.size() > 1) offer(std::move(moved), std::move(edits), *last);
  }

  void drop_pair(NodeId id) {
    const NodeId batch = below_identities(p_, id);
    if (p_[batch].kind != Kind::kBatch) return;
    std::vector<std::string> pair = {p_[id].name};
    for (NodeId n = below(id);; n = below(n)) {
      if (readers_[n].size() > 1) return;
      pair.push_back(p_[n].name);
      if (n == batch) break;
    }
    const Objection objection = objection_to_drop_pair(p_, id);
    if (!allowed(objection)) return reject(EditKind::kRemove, id, objection.reason);
    Moved moved = now_;
    for (const std::string& name : pair) take_out(moved, *find_node(moved.pipeline, name));
    const std::string reason =
        fmt::format("it takes apart what {} has put together", p_[batch].name);
    offer(std::move(moved), {edit(EditKind::kRemove, p_[id], "", reason)}, id);
  }

  void rebatch(NodeId id) {
    const NodeId unbatch = below(id);
    if (p_[unbatch].kind != Kind::kUnbatch || readers_[unbatch].size() > 1) return;
    const Objection objection = objection_to_rebatch(p_, unbatch);
    if (!allowed(objection)) return reject(EditKind::kRemove, unbatch, objection.reason);
    Moved moved = now_;
    become_rebatch(moved, id);
    take_out(moved, unbatch);
    offer(std::move(moved),
          {edit(EditKind::kConvert, p_[id], "RebatchDatasetV2",
                "batches are cut and joined, not taken apart into single elements")},
          id);
  }

  void move_inside(NodeId id) {
    if (p_[id].inner.size() != 1) return;
    Moved moved = now_;
    std::vector<Edit> edits;
    for (int count = 0; count < kMostLifted; ++count) {
      const NodeId place = *find_node(moved.pipeline, p_[id].name);
      const std::vector<NodeId> readers = consumers_of(moved.pipeline)[place];
      if (readers.size() != 1 || moved.pipeline[readers.front()].kind != Kind::kMap) return;
      const NodeId map = readers.front();
      const Objection objection = objection_to_move_inside(moved.pipeline, map, place);
      if (!objection.reason.empty()) {
        const auto own = find_node(p_, moved.pipeline[map].name);
        return reject(EditKind::kMoveIntoFunction, *own, objection.reason);
      }
      edits.push_back(edit(EditKind::kMoveIntoFunction, moved.pipeline[map], p_[id].name,
                           "its calls run on the threads that read, one beside the other"));
      put_inside(moved, map, place);
      offer(moved, edits, id);
    }
  }

  void balance(NodeId id) {
    const std::vector<NodeId>& readers = readers_[id];
    if (readers.size() == 1 && p_[readers.front()].kind == Kind::kConcatenate) return;
    Moved moved = now_;
    const BalanceGain gain = balance_concatenations(moved, id);
    if (gain.depth_after == 0 || gain.depth_after >= gain.depth_before) return;
    offer(std::move(moved),
          {edit(EditKind::kBalance, p_[id], "",
                fmt::format("an element of {} data sets passes {} concatenations at most, not {}",
                            gain.leaves, gain.depth_after, gain.depth_before))},
          id);
  }

  // What lies below the node costs nothing where the cache answers, but for reading it.
  Moved with_hits(NodeId id) const {
    Moved hits = now_;
    for (const NodeId n : all_below(p_, {id})) {
      NodeCost& cost = hits.analysis.costs.nodes[n];
      cost = {.elements = cost.elements};
    }
    NodeCost& top = hits.analysis.costs.nodes[id];
    top.work_s = top.cpu_s = hits.analysis.costs.hand_off.cache_read * top.elements;
    return hits;
  }

  void cut_files(NodeId id) {
    const bool has_one = std::ranges::any_of(
        p_.nodes, [](const Node& node) { return node.partial_cache_bytes > 0; });
    if (has_one || readers_[id].size() > 1) return;
    const double spare = options_.limits.memory_bytes - now_.analysis.memory.held_bytes;
    const PartialCacheOffer offered =
        partial_cache_at(p_, now_.analysis, id, spare * kShareOfSpare);
    if (!offered.why_not.empty()) return reject(EditKind::kInsertPartialCache, id, offered.why_not);
    if (!offered.cache) return;
    const PartialCache& cache = *offered.cache;
    Moved moved = now_;
    moved.pipeline[id].partial_cache_bytes = cache.bytes;
    for (NodeId n = id;; n = below(n)) {
      const std::string why = "a part of the files is cached above it";
      moved.analysis.nodes[n].cache = {CacheClass::kExact, false, why, "", false};
      if (n == cache.files) break;
    }
    Edit made =
        edit(EditKind::kInsertPartialCache, p_[id], p_[cache.files].name,
             fmt::format("{} of the elements, {}, come from memory from the second epoch "
                         "on{}",
                         format_share(cache.hit_share), format_bytes(cache.bytes), cache.order));
    made.value = cache.first;
    offer(std::move(moved), {std::move(made)}, id);
    found_.legal.back().hit_share = cache.hit_share;
    found_.legal.back().all_hits = with_hits(id);
  }

  const Moved& now_;
  const Pipeline& p_;
  const OptimizeOptions& options_;
  PerNode<std::vector<NodeId>> readers_;
  MoveCandidates found_;
};

}  // namespace

MoveCandidates find_moves(const Moved& now, const OptimizeOptions& options) {
  return Finder(now, options).run();
}

}  // namespace plumber
