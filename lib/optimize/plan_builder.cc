// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "optimize/choices.h"
#include "optimize/edit_reasons.h"
#include "optimize/programme_input.h"

namespace plumber {
namespace {

constexpr const char* kMapParallelization = "experimental_optimization.map_parallelization";
constexpr const char* kMapAndBatchFusion = "experimental_optimization.map_and_batch_fusion";
constexpr std::size_t kMostWork = 300'000;  // edits times nodes; larger plans tell no single gains
constexpr const char* kAutotuneOption = "autotune.enabled";
constexpr const char* kLeastCalls = "autotune.min_parallelism";
constexpr const char* kPoolSize = "threading.private_threadpool_size";

class Builder {
 public:
  Builder(const Problem& problem, const Settled& settled)
      : problem_(problem), settled_(settled), now_(evaluate(problem, settled)) {
    std::size_t changed = 0;
    for (const ModeChange* change : settled.changes) changed += change == nullptr ? 0 : 1;
    tells_gains_ = changed * settled.changes.size() <= kMostWork;
  }

  Plan run() {
    plan_.graph_fingerprint = problem_.pipeline->graph_fingerprint;
    for (std::size_t i = 0; i < settled_.setting.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      add_mode(id);
      add_cache(id);
      add_prefetch(id);
      add_buffer(id);
    }
    add_options();
    if (any_shares_inline()) plan_.environment["TF_NUM_INTRAOP_THREADS"] = "1";
    return std::move(plan_);
  }

 private:
  const NodeSetting& setting(NodeId id) const { return settled_.setting[id]; }
  const std::string& name(NodeId id) const { return problem_.node(id).name; }

  /// A kernel that shares its work would wait for other threads on its caller's.
  bool any_shares_inline() const {
    for (std::size_t i = 0; i < settled_.changes.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      const ModeChange* change = settled_.changes[id];
      const bool is_inline = change != nullptr && (setting(id).mode == Mode::kInline ||
                                                   setting(id).mode == Mode::kParallelInline);
      if (is_inline && !sharding_kernel(problem_, id).empty()) return true;
    }
    return false;
  }

  Edit& add(EditKind kind, NodeId id, std::string reason, EditValue value = {}) {
    plan_.edits.push_back({"", kind, name(id), "", value, std::move(reason), {}, ""});
    return plan_.edits.back();
  }

  /// The rate that is lost when this node alone stays as stock TensorFlow runs it. In the first
  /// epoch where the node lies below a filled cache. nullopt: none.
  std::optional<double> gain_per_s(NodeId id, bool first_epoch) const {
    Settled without = settled_;
    without.setting[id] = problem_.stock[id];
    const double slow_s = period_s(problem_, without, first_epoch);
    const double fast_s = period_s(problem_, settled_, first_epoch);
    constexpr double kNothing = 1e-3;  // of the rate: other edits do the same
    const bool brings = fast_s > 0 && slow_s > fast_s * (1 + kNothing);
    return brings ? std::optional(1 / fast_s - 1 / slow_s) : std::nullopt;
  }

  /// The rate that is lost without a part of the plan.
  double lost_per_s(const Settled& without) const {
    return std::max(0.0, 1 / now_.period_s - 1 / evaluate(problem_, without).period_s);
  }

  bool runs_in_steady_state(NodeId id) const {
    const bool is_cache = problem_.node(id).kind == Kind::kCache;
    return active_nodes(*problem_.pipeline, settled_.setting)[id] &&
           (!setting(id).cached || is_cache);
  }

  void add_mode(NodeId id) {
    const ModeChange* change = settled_.changes[id];
    if (change == nullptr) return;
    if (change->edit == EditKind::kSetOptions) {
      keeps_sequential_.push_back(id);
      return;
    }
    const bool first_epoch = !runs_in_steady_state(id);
    const auto calls = static_cast<std::int64_t>(setting(id).parallelism);
    const bool parallel = is_boundary(problem_.node(id), setting(id));
    EditValue value;
    if (parallel) value = calls;
    std::string reason = parallel ? why_calls(problem_, settled_, id, first_epoch)
                                  : why_sequential(problem_, setting(id), id);
    Edit& edit = add(change->edit, id, std::move(reason), value);
    edit.to = change->to;
    const bool saves = setting(id).parallelism < problem_.stock[id].parallelism;  // memory
    if (tells_gains_ && settled_.fixed_autotune[id] == 0 && !(parallel && saves))
      edit.gain_per_s = gain_per_s(id, first_epoch);
  }

  void add_cache(NodeId id) {
    if (!setting(id).cached || problem_.stock[id].cached) return;
    Edit& edit = add(EditKind::kInsertCache, id, why_cached(problem_, setting(id), id));
    edit.gain_per_s = gain_of_cache(id);
    if (setting(id).on_disk)
      edit.to = problem_.machine.disk_cache->folder;  // cache_files.h names the file
  }

  double gain_of_cache(NodeId id) const {
    Settled without = settled_;
    without.setting[id].cached = without.setting[id].on_disk = false;
    return lost_per_s(without);
  }

  void add_prefetch(NodeId id) {
    if (!setting(id).prefetch_above) return;
    const bool at_end = id == last_node(*problem_.pipeline);
    const std::int64_t size = prefetch_size(problem_, id, now_.period_s);
    const std::string reason = at_end
                                   ? "the next element is made while the consumer works on this one"
                                   : "what is above it and what is below it run on two threads";
    Edit& edit = add(EditKind::kInsertPrefetch, id, reason, size);
    if (problem_.stock[id].prefetch_above) return;
    Settled without = settled_;
    without.setting[id].prefetch_above = false;
    edit.gain_per_s = lost_per_s(without);
  }

  void add_buffer(NodeId id) {
    const int size = settled_.buffers[id];
    if (size == 0) return;
    add(EditKind::kSetBuffer, id, why_buffered(problem_, size, id), std::int64_t{size});
  }

  /// A filter whose predicate a map computes ends with an inline map, which drops the flag.
  bool passes_through(NodeId id) const {
    const ModeChange* change = settled_.changes[id];
    return change != nullptr && change->edit == EditKind::kPassThroughFilter;
  }

  /// The batch straight above a map, of both of which TensorFlow makes one op.
  const Node* batch_fused_with(NodeId id) const {
    const bool alone = setting(id).prefetch_above || setting(id).cached;
    const bool ends_with_map = problem_.node(id).kind == Kind::kMap || passes_through(id);
    if (!ends_with_map || alone || problem_.node(id).outer) return nullptr;
    for (const NodeId consumer : problem_.consumers[id]) {
      const Node& batch = problem_.node(consumer);
      if (batch.op == "BatchDatasetV2" && !is_boundary(batch, setting(consumer))) return &batch;
    }
    return nullptr;
  }

  /// Its calls would be handed over again.
  bool inline_would_be_fused(NodeId id) const {
    const Mode mode = setting(id).mode;
    const bool runs_inline =
        mode == Mode::kInline || mode == Mode::kParallelInline || passes_through(id);
    return runs_inline && batch_fused_with(id) != nullptr;
  }

  /// The fused op joins the elements of a partial batch before it drops it, which fails if their
  /// shapes differ: the last batch of a batch of batches.
  bool dropped_would_be_joined(NodeId id) const {
    const Node& node = problem_.node(id);
    if (!node.new_reader || node.equal_shapes) return false;
    const Node* batch = batch_fused_with(id);
    return batch != nullptr && batch->drop_remainder;
  }

  Edit& add_option(const char* option, EditValue value, std::string reason) {
    plan_.edits.push_back(
        {"", EditKind::kSetOptions, "", option, value, std::move(reason), {}, ""});
    return plan_.edits.back();
  }

  void switch_off(const char* option, const std::vector<NodeId>& nodes, const char* why) {
    if (nodes.empty()) return;
    add_option(option, false, name(nodes.front()) + why);
  }

  void add_options() {
    switch_off(kMapParallelization, keeps_sequential_,
               " is quicker on its consumer's thread; TensorFlow would undo that");
    std::vector<NodeId> fused, joined, unfused;
    for (std::size_t i = 0; i < settled_.setting.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (inline_would_be_fused(id)) fused.push_back(id);
      if (dropped_would_be_joined(id)) joined.push_back(id);
      if (problem_.node(id).unfused && batch_fused_with(id) != nullptr) unfused.push_back(id);
    }
    switch_off(kMapAndBatchFusion, fused,
               " is inline; TensorFlow would fuse it with the batch above and dispatch it again");
    if (fused.empty())
      switch_off(kMapAndBatchFusion, unfused,
                 " is taken out of its batch; TensorFlow would put it in again");
    if (fused.empty() && unfused.empty())
      switch_off(kMapAndBatchFusion, joined,
                 "'s elements may differ in shape; TensorFlow would fuse it with the batch above, "
                 "which would then join the elements of a partial batch before it drops it");
    if (settled_.autotune_off) add_autotune_off();
    if (settled_.least_calls > 1) {
      add_option(kLeastCalls, static_cast<std::int64_t>(settled_.least_calls),
                 "AUTOTUNE begins with one call at a time and need not find this out");
    }
    const double traced = problem_.pipeline->machine.cores;
    if (problem_.machine.cores >= traced || traced <= 0) return;
    add_option(kPoolSize, static_cast<std::int64_t>(std::max(1.0, problem_.machine.cores)),
               fmt::format("the plan may use {} of the machine's {} cores",
                           format_number(problem_.machine.cores), format_number(traced)));
  }

  void add_autotune_off() {
    Settled without = settled_;
    without.autotune_off = false;
    Edit& edit =
        add_option(kAutotuneOption, false,
                   "every number is fixed: nothing is left to tune, and counting for it takes time "
                   "in each element");
    const double lost = lost_per_s(without);  // else it saves core seconds alone
    if (lost * now_.period_s > 1e-3) edit.gain_per_s = lost;
  }

  const Problem& problem_;
  const Settled& settled_;
  Evaluation now_;
  Plan plan_;
  std::vector<NodeId> keeps_sequential_;
  bool tells_gains_ = true;
};

}  // namespace

Plan build_plan(const Problem& problem, const Settled& settled) {
  return Builder(problem, settled).run();
}

}  // namespace plumber
