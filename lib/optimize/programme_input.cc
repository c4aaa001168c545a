// SPDX-License-Identifier: Apache-2.0
#include "optimize/programme_input.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ops/disk_load.h"
#include "ops/hand_off.h"
#include "ops/pauses.h"
#include "ops/take_waste.h"
#include "optimize/ledger.h"

namespace plumber {
namespace {

constexpr double kUsable = 0.92;  // share of the cores, where nothing says otherwise
constexpr double kPause_s = 1e-3;
constexpr double kFastElements_per_s = 2000;
constexpr double kMostAtEnd_bytes = 4e6;
constexpr double kShareAtEnd = 0.01;        // of the memory: caches need it more
constexpr double kMostBuffer_bytes = 64e6;  // a deeper buffer of large elements only fills memory

struct SegmentSum {
  double work_s = 0;
  double calls = 0;
};

class InputOf {
 public:
  InputOf(const Problem& problem, const Choices& choices, const Setting& setting, Evaluation now)
      : problem_(problem),
        choices_(choices),
        setting_(setting),
        hand_off_(problem.costs.hand_off),
        now_(std::move(now)),
        active_(active_nodes(*problem.pipeline, setting)),
        pauses_(pauses_above(*problem.pipeline, problem.costs, setting)) {
    sum_segments();
    for (const DiskSource& source :
         disk_sources(*problem.pipeline, problem.costs, problem.machine.disks))
      sources_[chooser_of(source.node)].push_back(source);
    disks_ = disk_loads(*problem.pipeline, problem.costs, {setting, now_.segment, problem.machine});
  }

  ProgrammeInput run() {
    ProgrammeInput input;
    input.pipeline = problem_.pipeline;
    input.nodes = PerNode<NodeOptions>(problem_.pipeline->size());
    for (std::size_t i = 0; i < input.nodes.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      input.nodes[id] = options_of(id);
    }
    input.think_s = problem_.costs.think_time_s;
    input.usable_cores = usable_cores();
    input.disks = disk_count(problem_.machine);
    if (const auto& disk_cache = problem_.machine.disk_cache) {
      input.cache_disk = cache_disk(problem_.machine);
      input.room_bytes = disk_cache->room_bytes;
    }
    return input;
  }

 private:
  void sum_segments() {
    for (std::size_t i = 0; i < setting_.size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (!active_[id] || calls_beside(id, setting_[id])) continue;
      SegmentSum& sum = segment(now_.segment[id]);
      sum.work_s += problem_.cost(id).work_s;
      if (setting_[id].mode == Mode::kDispatched) sum.calls += problem_.cost(id).calls;
    }
  }

  SegmentSum& segment(int number) {
    const auto index = static_cast<std::size_t>(number);
    if (index >= segments_.size()) segments_.resize(index + 1);
    return segments_[index];
  }

  bool holds_data_sets(NodeId id) const {
    const Kind kind = problem_.node(id).kind;
    return kind == Kind::kInterleave || kind == Kind::kFlatMap;
  }

  /// Its work is done in parallel calls, on no segment's thread.
  bool calls_beside(NodeId id, const NodeSetting& setting) const {
    const bool boundary = is_boundary(problem_.node(id), setting);
    return boundary && problem_.node(id).kind != Kind::kPrefetch && !holds_data_sets(id);
  }

  /// The node whose mode decides how many read a source at once; else the source itself.
  NodeId chooser_of(NodeId source) const {
    for (auto outer = problem_.node(source).outer; outer; outer = problem_.node(*outer).outer)
      if (choices_.nodes[*outer].modes.size() > 1) return *outer;
    return source;
  }

  /// Reading of the sources that `id` decides about, if it runs like this and the rest as it does;
  /// s per root element, by disk.
  std::vector<double> reading_s(NodeId id, const NodeSetting& node) const {
    const auto found = sources_.find(id);
    if (found == sources_.end()) return {};
    Setting with = setting_;
    with[id] = node;
    std::vector<double> seconds(disk_count(problem_.machine), 0);
    for (const DiskSource& source : found->second) {
      const double now = active_[source.node] ? readers_now(source.node) : 0;
      const double others = std::max(0.0, disks_[source.disk].readers - now);
      const double readers = others + readers_of(*problem_.pipeline, with, source.node);
      const double rate = disk_rate(problem_.machine.disks[source.disk].curve, readers);
      if (rate > 0) seconds[source.disk] += problem_.cost(source.node).disk_bytes / rate;
    }
    return seconds;
  }

  double readers_now(NodeId source) const {
    return readers_of(*problem_.pipeline, setting_, source);
  }

  double usable_cores() const {
    const double cores = problem_.machine.cores;
    if (!problem_.costs.hand_off_known) return cores;
    return now_.usable_cores > 0 ? now_.usable_cores : kUsable * cores;
  }

  /// Handing the node's elements over, seen from the thread below or above it; s per root element.
  double handover(NodeId id, int segment_number, double block = 1) {
    const double elements = problem_.cost(id).elements;
    if (elements <= 0) return 0;
    const double think_s = segment_number == 0 ? problem_.costs.think_time_s : 0;
    const double x_s = (segment(segment_number).work_s + think_s) / elements;
    return element_handover_s(hand_off_, problem_.node(id), x_s, block) * elements;
  }
  double handover_below(NodeId id, double block = 1) {
    return handover(id, now_.segment[id], block);
  }
  double handover_above(NodeId id, double block = 1) {
    const auto& consumers = problem_.consumers[id];
    return handover(id, consumers.empty() ? 0 : now_.segment[consumers.front()], block);
  }

  NodeOptions options_of(NodeId id) {
    const NodeCost& cost = problem_.cost(id);
    const NodeChoices& choices = choices_.nodes[id];
    NodeOptions options;
    for (const ModeChoice& choice : choices.modes) options.modes.push_back(mode_of(id, choice));
    if (choices.take_last) options.modes.erase(options.modes.begin());
    options.prefetch = choices.prefetch || problem_.stock[id].prefetch_above;
    options.prefetch_by_default = problem_.stock[id].prefetch_above;
    options.prefetch_above_s = handover_above(id);
    options.prefetch_below_s = handover_below(id);
    options.prefetch_bytes =
        prefetch_size(problem_, id, now_.period_s) * problem_.analysis->nodes[id].bytes_per_element;
    options.cache_bytes = choices.cache_bytes;
    options.served = problem_.stock[id].cached;
    const bool is_cache = problem_.node(id).kind == Kind::kCache;
    options.cache_read_s = is_cache ? cost.work_s : hand_off_.cache_read * cost.elements;
    if (problem_.node(id).inner.empty()) options.disk_s = reading_s(id, setting_[id]);
    add_files(id, options);
    options.python_s = cost.python ? std::min(cost.work_s, cost.cpu_s) : 0;
    return options;
  }

  /// A cache on disk that may stand above the node, or is being written there.
  void add_files(NodeId id, NodeOptions& options) const {
    const auto& disk = problem_.machine.disk_cache;
    const NodeCost& cost = problem_.cost(id);
    const FileElements elements{cost.elements, problem_.node(id).components};
    const bool written = setting_[id].on_disk && !setting_[id].cached;
    options.disk_cache_bytes = choices_.nodes[id].disk_cache_bytes;
    if (!disk || !(written || options.disk_cache_bytes)) return;
    options.file_read_s = file_cache_read_s(elements, cost.file_cache_bytes);
    options.file_disk_s = cost.file_cache_bytes / cache_read_bytes_per_s();
    if (!written) return;
    options.file_write_s = file_cache_write_s(elements, cost.file_cache_bytes);
    options.disk_s.resize(disk_count(problem_.machine), 0);
    options.disk_s[cache_disk(problem_.machine)] += cost.file_cache_bytes / disk->write_bytes_per_s;
  }

  double cache_read_bytes_per_s() const {
    const Machine& machine = problem_.machine;
    const std::size_t disk = cache_disk(machine);
    if (disk == machine.disks.size()) return machine.disk_cache->read_bytes_per_s;
    return disk_rate(machine.disks[disk].curve, std::max(1.0, disks_[disk].readers));
  }

  ModeOption mode_of(NodeId id, const ModeChoice& choice) {
    const NodeCost& cost = problem_.cost(id);
    const NodeSetting& setting = choice.setting;
    ModeOption option;
    option.boundary = is_boundary(problem_.node(id), setting);
    option.cpu_s = cost.cpu_s;
    if (!problem_.node(id).inner.empty()) option.disk_s = reading_s(id, setting);
    option.edits = choice.change == nullptr ? 0 : 1;
    if (!option.boundary) {
      set_thread(id, setting, option);
      return option;
    }
    const double block = block_of(problem_.node(id));
    option.thread_s = handover_above(id, block);
    option.below_s = handover_below(id, block);
    option.cpu_s += option.thread_s + option.below_s;
    if (problem_.node(id).kind == Kind::kPrefetch) {
      option.below_s += cost.work_s;
      return option;
    }
    option.threads = static_cast<int>(setting.parallelism);
    option.memory_bytes = in_flight_bytes(problem_, id, setting);
    if (holds_data_sets(id)) {
      set_readers(id, setting, option);
    } else {
      set_calls(id, setting, option);
    }
    return option;
  }

  /// On its consumer's thread; a dispatched call sleeps the deeper the more work lies around it.
  void set_thread(NodeId id, const NodeSetting& setting, ModeOption& option) {
    const NodeCost& cost = problem_.cost(id);
    option.thread_s = cost.work_s;
    if (setting.mode != Mode::kDispatched || cost.calls <= 0) return;
    SegmentSum sum = segment(now_.segment[id]);
    if (!active_[id] || calls_beside(id, setting_[id])) sum.work_s += cost.work_s;
    if (!active_[id] || setting_[id].mode != Mode::kDispatched) sum.calls += cost.calls;
    const double x_s = sum.work_s / sum.calls;
    option.thread_s += cost.calls * dispatch_latency_s(hand_off_, x_s);
    option.cpu_s += cost.calls * dispatch_cpu_s(hand_off_, x_s);
  }

  void set_calls(NodeId id, const NodeSetting& setting, ModeOption& option) {
    const ParallelCost cost = parallel_cost(hand_off_, problem_.node(id), problem_.cost(id),
                                            calls_in_flight(setting, problem_.machine.cores));
    option.own_s = cost.own_s;
    option.cpu_s += cost.cpu_s + idle_in_pauses_s(pauses_[id], setting.parallelism, cost.call_cpu_s,
                                                  problem_.machine.cores);
    option.below_s += hand_off_.runner * problem_.cost(id).calls;
    // One call in flight: the runner fetches its next input only when the call is done.
    if (setting.parallelism < 2) option.below_s = std::max(option.below_s, cost.serial_s);
  }

  void set_readers(NodeId id, const NodeSetting& setting, ModeOption& option) {
    double threads = setting.parallelism;
    const auto& cycle = problem_.node(id).cycle_length;
    if (cycle && *cycle > 0) threads = std::min(threads, static_cast<double>(*cycle));
    option.inner_share = 1 / std::max(1.0, threads);
    option.below_s += problem_.cost(id).work_s;
    for (const NodeId root : problem_.node(id).inner) {
      const double block = block_of(problem_.node(id));
      const double handed_s = handover_below(root, block);
      option.inner_s += handed_s;
      option.below_s += handover(root, now_.segment[id], block);
      option.cpu_s += 2 * handed_s;
    }
  }

  const Problem& problem_;
  const Choices& choices_;
  const Setting& setting_;
  const HandOff& hand_off_;
  Evaluation now_;
  PerNode<bool> active_;
  PerNode<Pause> pauses_;
  std::vector<SegmentSum> segments_;
  std::map<NodeId, std::vector<DiskSource>> sources_;  // by the node that decides about them
  std::vector<DiskLoad> disks_;
};

}  // namespace

ProgrammeInput programme_input(const Problem& problem, const Choices& choices,
                               const Setting& setting) {
  Evaluation now = evaluate(problem, setting);
  const auto begun = begun_below_takes(*problem.pipeline, problem.costs, setting);
  if (!begun) return InputOf(problem, choices, setting, std::move(now)).run();
  Problem with_begun = problem;
  with_begun.costs = with_waste(problem.costs, *begun);
  return InputOf(with_begun, choices, setting, std::move(now)).run();
}

int prefetch_size(const Problem& problem, NodeId id, double period_s) {
  constexpr double kLeast = 2, kFast = 64, kMost = 512;
  if (!(period_s > 0)) return static_cast<int>(kLeast);
  const bool at_end = id == last_node(*problem.pipeline);
  const double rate = (at_end ? 1 : problem.cost(id).elements) / period_s;
  const double bridge = at_end ? kLeast : std::ceil(kPause_s * rate);
  const double wanted = std::max(bridge, rate < kFastElements_per_s ? kLeast : kFast);
  const double bytes = std::max(1.0, problem.analysis->nodes[id].bytes_per_element);
  const double at_end_bytes =
      std::min(kMostAtEnd_bytes, kShareAtEnd * problem.options->limits.memory_bytes);
  const double fitting = (at_end ? at_end_bytes : kMostBuffer_bytes) / bytes;
  return static_cast<int>(std::max(kLeast, std::min({wanted, kMost, fitting})));
}

}  // namespace plumber
