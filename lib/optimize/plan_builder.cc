// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "ops/hand_off.h"
#include "ops/memory_ledger.h"
#include "optimize/cache_choices.h"
#include "optimize/choices.h"
#include "optimize/ledger.h"
#include "optimize/programme_input.h"
#include "optimize/python_line.h"

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
    const double slow_s = period_s(without, first_epoch);
    const double fast_s = period_s(settled_, first_epoch);
    constexpr double kNothing = 1e-3;  // of the rate: other edits do the same
    const bool brings = fast_s > 0 && slow_s > fast_s * (1 + kNothing);
    return brings ? std::optional(1 / fast_s - 1 / slow_s) : std::nullopt;
  }

  double period_s(const Settled& settled, bool first_epoch) const {
    return (first_epoch ? evaluate_first_epoch(problem_, settled) : evaluate(problem_, settled))
        .period_s;
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
    std::string reason = parallel ? why_calls(id, first_epoch) : why_sequential(id);
    Edit& edit = add(change->edit, id, std::move(reason), value);
    edit.to = change->to;
    const bool saves = setting(id).parallelism < problem_.stock[id].parallelism;  // memory
    if (tells_gains_ && settled_.fixed_autotune[id] == 0 && !(parallel && saves))
      edit.gain_per_s = gain_per_s(id, first_epoch);
  }

  std::string why_calls(NodeId id, bool first_epoch) const {
    const NodeCost& cost = problem_.cost(id);
    const double calls = setting(id).parallelism;
    if (settled_.fixed_autotune[id] != 0 && !problem_.node(id).inner.empty()) {
      return "a number in place of AUTOTUNE, so that reading keeps up with the rest";
    }
    if (settled_.fixed_autotune[id] != 0) {
      const char* by =
          problem_.node(id).parallelism ? "" : ", which TensorFlow would add by itself";
      return fmt::format("a number in place of AUTOTUNE{}: {} of work a root element need no more",
                         by, format_seconds(cost.work_s));
    }
    if (calls < problem_.stock[id].parallelism && problem_.node(id).inner.empty()) {
      return fmt::format(
          "{:.0f} in flight hold {}, {:.0f} would hold {}: there is no memory for them", calls,
          format_bytes(in_flight_bytes(problem_, id, setting(id))), problem_.stock[id].parallelism,
          format_bytes(in_flight_bytes(problem_, id, problem_.stock[id])));
    }
    const std::string when = first_epoch ? " in the first epoch" : "";
    if (!problem_.node(id).inner.empty()) {
      return fmt::format(
          "{:.0f} data sets are read at a time{}, so that reading keeps up with the rest", calls,
          when);
    }
    if (only_splits(id, first_epoch)) {
      return fmt::format(
          "what is above it and what is below it run on two threads{}; its own {} a root element "
          "would need no other",
          when, format_seconds(cost.work_s));
    }
    const double cores = std::max(1.0, problem_.machine.cores);
    const double beside = std::min(calls, cores);
    std::string reason =
        fmt::format("{} of work a root element on {:.0f} call{} at a time{}; on {} core{} it is {}",
                    format_seconds(cost.work_s), problem_.stock[id].parallelism,
                    problem_.stock[id].parallelism == 1 ? "" : "s", when, format_number(beside),
                    beside == 1 ? "" : "s", format_seconds(cost.work_s / beside));
    if (calls > cores) {
      reason += fmt::format(", and {:.0f} calls in flight keep {} busy", calls,
                            cores == 1 ? "it" : "them");
    }
    return reason;
  }

  /// True if its calls bring no more than a prefetch in their place would: another thread.
  bool only_splits(NodeId id, bool first_epoch) const {
    if (problem_.stock[id].parallelism > 1 || settled_.setting[id].prefetch_above) return false;
    Settled split = settled_;
    split.setting[id] = {Mode::kInline, 1};
    const double alone_s = period_s(split, first_epoch);
    split.setting[id].prefetch_above = true;
    const double enough_s = period_s(settled_, first_epoch) * (1 + kTolerance);
    return alone_s > enough_s && period_s(split, first_epoch) <= enough_s;
  }

  std::string why_sequential(NodeId id) const {
    const NodeCost& cost = problem_.cost(id);
    if (!problem_.node(id).inner.empty()) {
      return "handing its elements over costs more than reading beside the rest saves";
    }
    const double work_s = cost.calls > 0 ? cost.work_s / cost.calls : cost.work_s;
    if (setting(id).mode != Mode::kInline) {
      return fmt::format("{} of work a call is less than handing it to another thread costs",
                         format_seconds(work_s));
    }
    return fmt::format("{}{} of work a call against {} to hand it to another thread",
                       cost.work_clamped ? "at most " : "", format_seconds(work_s),
                       format_seconds(hand_off_s(id, work_s)));
  }

  /// What a call costs beyond its work as stock TensorFlow runs it.
  double hand_off_s(NodeId id, double work_s) const {
    const HandOff& constants = problem_.costs.hand_off;
    const NodeSetting& stock = problem_.stock[id];
    if (!is_boundary(problem_.node(id), stock)) return dispatch_latency_s(constants, work_s);
    return parallel_call(constants, work_s, calls_in_flight(stock, problem_.machine.cores)).wall_s;
  }

  void add_cache(NodeId id) {
    if (!setting(id).cached || problem_.stock[id].cached) return;
    const NodeAnalysis& node = problem_.analysis->nodes[id];
    const bool on_disk = setting(id).on_disk;
    std::string reason = on_disk
                             ? why_file(id)
                             : fmt::format("holds {}; all below it runs in the first epoch only",
                                           format_bytes(cached_bytes(node)));
    if (node.cache.cache_class != CacheClass::kExact && !node.cache.reason.empty()) {
      reason += "; " + node.cache.reason;
    }
    Edit& edit = add(EditKind::kInsertCache, id, std::move(reason));
    edit.gain_per_s = gain_of_cache(id);
    if (on_disk) edit.to = problem_.machine.disk_cache->folder;  // cache_files.h names the file
  }

  std::string why_file(NodeId id) const {
    const DiskCache& disk = *problem_.machine.disk_cache;
    return fmt::format(
        "holds {} in a file; all below it runs in the first epoch only, which writes the file at "
        "{} at most; later ones read {} a root element from it",
        format_bytes(filed_bytes(problem_, id)), format_bytes_rate(disk.write_bytes_per_s),
        format_bytes(problem_.cost(id).file_cache_bytes));
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

  bool fits_as_it_is() const {
    return stock_memory_bytes(problem_) <= problem_.options->limits.memory_bytes;
  }

  void add_buffer(NodeId id) {
    if (settled_.buffers[id] == 0) return;
    const std::int64_t now = problem_.node(id).buffer_size.value_or(0);
    const bool grows = now >= 0 && now < settled_.buffers[id];
    add(EditKind::kSetBuffer, id,
        now == kAutotune && fits_as_it_is()
            ? "a number in place of AUTOTUNE, which takes more while memory is free"
        : grows && settled_.buffers[id] > 2
            ? "elements come so fast that a shallow buffer puts both threads to sleep at each"
        : grows ? "one element in the consumer's hands, one ready, one in the making"
                : "the program holds more than the memory it may use",
        static_cast<std::int64_t>(settled_.buffers[id]));
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
    std::vector<NodeId> fused, joined;
    for (std::size_t i = 0; i < settled_.setting.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (inline_would_be_fused(id)) fused.push_back(id);
      if (dropped_would_be_joined(id)) joined.push_back(id);
    }
    switch_off(kMapAndBatchFusion, fused,
               " is inline; TensorFlow would fuse it with the batch above and dispatch it again");
    if (fused.empty())
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

void add_housekeeping(const Pipeline& pipeline, Plan& plan) {
  for (const Node& node : pipeline.nodes) {
    const bool in_memory = node.op == "CacheDatasetV2" && node.cache_file.empty() && !node.outer;
    const auto removes = [&](const Edit& edit) {
      return edit.kind == EditKind::kRemove && edit.node == node.name;
    };
    if (!in_memory || std::any_of(plan.edits.begin(), plan.edits.end(), removes)) continue;
    plan.edits.push_back({"",
                          EditKind::kRehomeCache,
                          node.name,
                          "",
                          {},
                          "its handle is a name: after a reload it could serve another data "
                          "set's elements",
                          {},
                          ""});
  }
  const auto is_set = [&](const std::string& path) {
    return std::any_of(plan.edits.begin(), plan.edits.end(), [&](const Edit& edit) {
      return edit.kind == EditKind::kSetOptions && edit.to == path;
    });
  };
  for (const std::string& path : pipeline.recorder_options) {
    if (is_set(path)) continue;  // by the plan
    plan.edits.push_back(
        {"", EditKind::kSetOptions, "", path, {}, "set by the tracer, not by you", {}, ""});
  }
}

void number_edits(const Pipeline& pipeline, Plan& plan) {
  int number = 0;
  std::optional<Pipeline> changed;  // later lines repeat what earlier ones have changed
  for (Edit& edit : plan.edits) {
    edit.id = fmt::format("E{}", ++number);
    edit.python = python_line(changed ? *changed : pipeline, edit);
    const auto* cycle = std::get_if<std::int64_t>(&edit.value);
    if (edit.kind != EditKind::kLengthenCycle || cycle == nullptr) continue;
    if (!changed) changed = pipeline;
    (*changed)[*find_node(*changed, edit.node)].cycle_length = *cycle;
  }
}

}  // namespace plumber
