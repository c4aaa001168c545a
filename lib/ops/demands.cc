// SPDX-License-Identifier: Apache-2.0
#include "ops/demands.h"

#include <algorithm>
#include <limits>

#include "ops/bookkeeping.h"
#include "ops/hand_off.h"

namespace plumber {
namespace {

// Node time that is mostly hand-off: what is left of it is a guess, and said so.
constexpr double kLeastWorkShare = 0.25;
// Of a core: Python functions that use so much keep their lock all the time.
constexpr double kFullLock = 0.8;

class DemandsOf {
 public:
  DemandsOf(const Pipeline& p, const CounterWindow& window, const VisitRatios& ratios,
            const PerNode<bool>& filled)
      : p_(p), window_(window), ratios_(ratios), filled_(filled), setting_(traced_setting(p)) {
    out_.nodes = PerNode<NodeAnalysis>(p.size());
    out_.costs.nodes = PerNode<NodeCost>(p.size());
    opstats_ = p.dialect == Dialect::kOpstats;
  }

  Demands run() {
    mark_below_caches();
    for_each([&](NodeId n) { count(n); });
    for_each([&](NodeId n) { size(n); });
    find_kappa();
    for_each([&](NodeId n) { demand(n); });
    set_hand_off();
    for_each([&](NodeId n) { cost(n); });
    return std::move(out_);
  }

 private:
  template <class F>
  void for_each(F&& f) {
    for (std::size_t i = 0; i < p_.size(); ++i) f(static_cast<NodeId>(i));
  }

  void mark_below_caches() {
    for (std::size_t i = p_.size(); i-- > 0;) {
      const auto n = static_cast<NodeId>(i);
      const bool below = out_.nodes[n].below_cache || filled_[n];
      if (!below) continue;
      for (const NodeId input : p_[n].inputs) out_.nodes[input].below_cache = true;
      for (const NodeId inner : p_[n].inner) out_.nodes[inner].below_cache = true;
    }
  }

  // Counters that tell what one element costs: the window's, or all of the trace where the node was
  // idle within it.
  const Counters& counters(NodeId n) const {
    return window_.steady[n].elements > 0 ? window_.steady[n] : window_.total[n];
  }

  void count(NodeId n) {
    NodeAnalysis& a = out_.nodes[n];
    const Counters& c = counters(n);
    a.visit_ratio = ratios_.visits[n];
    a.visit_structural = ratios_.structural[n];
    a.elements = window_.total[n].elements;
    if (!opstats_ && !a.below_cache && a.visit_structural && !p_.dumps.empty())
      a.elements = std::max(a.elements, a.visit_ratio * p_.dumps.back().root_elements);
    a.service_s = std::min(service_s(c), most_service_s(n));
    a.parallelism = parallelism(n);
    a.autotuned = p_[n].autotuned;
    a.buffer_fill = p_[n].buffer_fill;
  }

  // Time of one element, without what came before the first ones where enough came after.
  static double service_s(const Counters& c) {
    constexpr double kEnough = 8, kEnoughShare = 0.1;
    const double worked = std::max(c.elements, c.worked_elements);
    const double after = worked - c.start_elements;
    if (after >= kEnough && after >= kEnoughShare * worked)
      return std::max(0.0, c.service_s - c.start_service_s) / after;
    return worked > 0 ? c.service_s / worked : 0;
  }

  // What the threads of a node had for one element. Where no poll saw most of its elements, those
  // that were seen may be the slow ones, such as the first read of each file.
  double most_service_s(NodeId n) const {
    constexpr double kMostUnseen = 0.5, kAny = std::numeric_limits<double>::infinity();
    const double due = ratios_.visits[n] * window_.root_elements;
    const Counters& c = counters(n);
    if (opstats_ || out_.nodes[n].below_cache || window_.elapsed_s <= 0) return kAny;
    if (std::max(c.elements, c.worked_elements) >= kMostUnseen * due) return kAny;
    double threads = 1;
    for (std::optional<NodeId> at = n; at; at = p_[*at].outer) {
      const std::optional<double> calls = parallelism(*at);
      if (!calls) return kAny;
      threads *= *calls;
    }
    return threads * window_.elapsed_s / due;
  }

  std::optional<double> parallelism(NodeId n) const {
    const Node& node = p_[n];
    const bool reader = node.outer && opstats_;  // opstats: open readers
    if (!is_parallel(setting_[n].mode) && !reader) return 1;
    if (node.traced_parallelism) return *node.traced_parallelism;
    if (node.parallelism == kAutotune) return std::nullopt;
    return setting_[n].parallelism;
  }

  void size(NodeId n) {
    NodeAnalysis& a = out_.nodes[n];
    const Counters& c = counters(n);
    if (c.elements > 0) a.bytes_per_element = c.bytes_produced / c.elements;
    // Fused into the batch above it: a share of the batch.
    for (const NodeId input : p_[n].inputs)
      if (p_[input].fused_upward && p_[n].kind == Kind::kBatch && p_[n].count.value_or(0) > 0)
        out_.nodes[input].bytes_per_element =
            a.bytes_per_element / static_cast<double>(*p_[n].count);
    if (opstats_ && c.elements > 0) a.disk_bytes = c.disk_bytes / c.elements * a.visit_ratio;
  }

  double root_elements() const { return window_.root_elements; }

  // Node time of the window; below a cache only what was counted, elsewhere with what polling lost.
  double node_time_s(NodeId n) const {
    const NodeAnalysis& a = out_.nodes[n];
    if (opstats_ || a.below_cache) return window_.steady[n].service_s;
    return a.service_s * a.visit_ratio * root_elements();
  }

  // CPU of the pipeline in the window; 0: unknown.
  double pipeline_cpu_s() const {
    const bool training = p_.recorder && p_.recorder->mode == "training";
    const double own_s = p_.recorder ? p_.recorder->pipeline_cpu_s : 0;
    if (own_s > 0 && p_.dumps.size() == 1) return own_s;
    return training ? 0 : window_.process_cpu_s;
  }

  // Wall time of CPU nodes can exceed the CPU that the process used when threads queue for a core.
  // Functions that may wait for something else get what CPU the others leave.
  void find_kappa() {
    double cpu_nodes_s = 0, waiting_nodes_s = 0, sources_s = 0;
    for_each([&](NodeId n) {
      out_.node_time_s += node_time_s(n);
      if (p_[n].kind == Kind::kFileSource) sources_s += node_time_s(n);
      if (p_[n].kind == Kind::kFileSource || waits(n)) return;
      (may_wait(n) ? waiting_nodes_s : cpu_nodes_s) += node_time_s(n);
    });
    const double cpu_s = pipeline_cpu_s();
    if (opstats_ || cpu_s <= 0) return;
    if (cpu_nodes_s > 0) out_.kappa = std::min(1.0, cpu_s / cpu_nodes_s);
    if (waiting_nodes_s > 0) out_.kappa = std::min(out_.kappa, share_on_core(cpu_s));
    double left_s = std::max(0.0, cpu_s - out_.kappa * cpu_nodes_s);
    if (waiting_nodes_s > 0) {
      waiting_kappa_ = std::min(out_.kappa, left_s / waiting_nodes_s);
      lock_is_full_ = left_s > kFullLock * window_.elapsed_s;
      left_s -= waiting_kappa_ * waiting_nodes_s;
    }
    note_waiting_sources(left_s, sources_s);
  }

  // Readers that wait for a disk: what the process did not spend elsewhere is all that they can
  // have used of the cores.
  void note_waiting_sources(double left_cpu_s, double sources_s) {
    constexpr double kWaits = 0.5, kLeast = 0.02, kIdle = 0.25;
    // Nothing left is no knowledge where threads queued for cores.
    const double cores_s = p_.machine.cores * window_.elapsed_s;
    const bool known = left_cpu_s > 0 || pipeline_cpu_s() < kIdle * cores_s;
    if (known && left_cpu_s < kWaits * sources_s)
      source_cpu_share_ = std::max(kLeast, left_cpu_s / sources_s);
  }

  // Of the time in which threads could run.
  double share_on_core(double cpu_s) const {
    const bool known = p_.recorder && p_.dumps.size() == 1;
    return cpu_s / (cpu_s + (known ? p_.recorder->run_queue_wait_s : 0));
  }

  template <class Test>
  bool any_function(NodeId n, Test&& test) const {
    const Node& node = p_[n];
    return (node.function && test(node.function->facts)) ||
           std::ranges::any_of(node.other_functions,
                               [&](const Function& f) { return test(f.facts); });
  }

  bool calls_python(NodeId n) const {
    return any_function(n, [](const FunctionFacts& f) { return !f.python.empty(); });
  }

  // For files, for Python's lock, or asleep in Python.
  bool may_wait(NodeId n) const {
    return calls_python(n) ||
           any_function(n, [](const FunctionFacts& f) { return !f.file_reads.empty(); });
  }

  double kappa(NodeId n) const { return may_wait(n) ? waiting_kappa_ : out_.kappa; }

  CpuBasis basis(NodeId n) const {
    constexpr double kOnCore = 0.9;
    if (opstats_) return CpuBasis::kThreadClock;
    if (p_[n].kind == Kind::kFileSource) return CpuBasis::kUnknown;
    if (pipeline_cpu_s() <= 0) return CpuBasis::kNodeTime;
    if (may_wait(n)) return CpuBasis::kAtMost;
    return out_.kappa >= kOnCore ? CpuBasis::kNodeTime : CpuBasis::kScaled;
  }

  // Their node time is waiting for another thread's element.
  bool waits(NodeId n) const {
    return p_[n].kind == Kind::kPrefetch ||
           (p_[n].kind == Kind::kInterleave && is_parallel(setting_[n].mode));
  }

  void demand(NodeId n) {
    NodeAnalysis& a = out_.nodes[n];
    const Counters& c = counters(n);
    if (opstats_) {
      if (c.elements > 0) a.cpu_s_per_element = c.cpu_s / c.elements;
    } else if (p_[n].kind != Kind::kFileSource) {
      a.cpu_s_per_element = kappa(n) * a.service_s;
    }
    a.cpu_basis = basis(n);
    a.demand_s = a.visit_ratio * a.cpu_s_per_element.value_or(a.service_s);
    if (a.demand_s > 0) a.rate_per_core_per_s = 1 / a.demand_s;
    if (window_.elapsed_s > 0 && (opstats_ || !waits(n)))
      a.busy_cores =
          (opstats_ ? window_.steady[n].cpu_s : kappa(n) * node_time_s(n)) / window_.elapsed_s;
    a.calls = calls(n);
  }

  double calls(NodeId n) const {
    const Node& node = p_[n];
    if (!calls_a_function(node)) return 0;
    const bool one_each = node.kind == Kind::kMap || node.kind == Kind::kScan;
    if (one_each || node.kind == Kind::kMemorySource) return ratios_.visits[n];
    return node.inputs.empty() ? 0 : ratios_.visits[node.inputs.front()];
  }

  void set_hand_off() {
    out_.costs.hand_off_known = !opstats_;
    out_.costs.hand_off = opstats_
                              ? no_hand_off()
                              : hand_off_of(p_.recorder ? p_.recorder->calibration : std::nullopt);
    int parallel_maps = 0;
    for_each([&](NodeId n) {
      if (p_[n].kind == Kind::kMap && is_parallel(setting_[n].mode)) ++parallel_maps;
    });
    many_ = parallel_maps > 1;
  }

  // Opstats: wall time counts waits for a core too, so it can exceed what the node's threads had.
  double held_s(NodeId n, double wall_s) const {
    const NodeAnalysis& a = out_.nodes[n];
    if (window_.elapsed_s <= 0 || root_elements() <= 0 || a.below_cache || !a.parallelism)
      return wall_s;
    const double threads_s = *a.parallelism * window_.elapsed_s / root_elements();
    return std::max(a.demand_s, std::min(wall_s, threads_s));
  }

  // Node time without the hand-off that it over-counts.
  double work_s(NodeId n, NodeCost& cost) const {
    const double time_s = out_.nodes[n].visit_ratio * out_.nodes[n].service_s;
    if (opstats_) return held_s(n, time_s);
    if (waits(n)) return 0;
    const Mode mode = setting_[n].mode;
    const HandOff& h = out_.costs.hand_off;
    double over_s = 0;
    const bool per_element = p_[n].kind != Kind::kFlatMap && p_[n].kind != Kind::kInterleave;
    if (mode == Mode::kDispatched && per_element)
      over_s = h.k0 + h.kop * (p_[n].function ? p_[n].function->facts.ops : 0);
    if (is_parallel(mode) && per_element) over_s = many_ ? h.kpm_many : h.kpm;
    if (time_s > 0 && per_element && p_[n].function)
      cost.least_s = cost.calls * inline_call_s(*p_[n].function);
    const double least_s = std::max(kLeastWorkShare * time_s, cost.least_s);
    const double left_s = time_s - cost.calls * over_s;
    cost.work_clamped = left_s < least_s;
    return held_share(n) * std::max(least_s, left_s);
  }

  // Of node time, what another setting of the program would need too: not waits for a core, nor for
  // a lock that is never free.
  double held_share(NodeId n) const {
    if (!may_wait(n)) return out_.kappa;
    const bool queues = calls_python(n) && lock_is_full_ && is_parallel(setting_[n].mode);
    return queues ? waiting_kappa_ : 1;
  }

  void cost(NodeId n) {
    const NodeAnalysis& a = out_.nodes[n];
    NodeCost& c = out_.costs.nodes[n];
    c.calls = a.calls;
    c.elements = a.visit_ratio;
    c.work_s = work_s(n, c);
    c.cpu_s = opstats_ ? a.demand_s : c.work_s * kappa(n) / std::max(1e-9, held_share(n));
    if (p_[n].kind == Kind::kFileSource) c.cpu_s *= source_cpu_share_;
    if (!opstats_ && p_[n].aligned)
      c.bookkeeping_s = out_.kappa * a.visit_ratio * bookkeeping_s(p_[n]);
    c.disk_bytes = a.disk_bytes;
    c.python = holds_python_lock(n);
    if (!p_[n].inner.empty() && !p_[n].inputs.empty())
      c.iterators = ratios_.visits[p_[n].inputs.front()];
  }

  // More than one busy core inside a Python function means that it lets the lock go. Handing its
  // calls to threads is no part of that.
  bool holds_python_lock(NodeId n) const {
    constexpr double kLetsGo = 1.1;
    if (!calls_python(n)) return false;
    double handing_cores = 0;
    if (out_.costs.hand_off_known && window_.elapsed_s > 0) {
      const HandOff& h = out_.costs.hand_off;
      const double call_s = is_parallel(setting_[n].mode) ? h.hp : h.h0;
      handing_cores = out_.nodes[n].calls * call_s * root_elements() / window_.elapsed_s;
    }
    return out_.nodes[n].busy_cores - handing_cores <= kLetsGo;
  }

  const Pipeline& p_;
  const CounterWindow& window_;
  const VisitRatios& ratios_;
  const PerNode<bool>& filled_;
  Setting setting_;
  Demands out_;
  double waiting_kappa_ = 1;  // CPU share of node time that may be waiting
  bool lock_is_full_ = false;
  bool opstats_ = false;
  bool many_ = false;
  double source_cpu_share_ = 1;  // CPU of what sources take; the rest is waiting
};

}  // namespace

Demands demands(const Pipeline& pipeline, const CounterWindow& window, const VisitRatios& ratios,
                const PerNode<bool>& filled) {
  return DemandsOf(pipeline, window, ratios, filled).run();
}

PerNode<bool> filled_caches(const Pipeline& pipeline, const CounterWindow& window) {
  constexpr double kReplayed = 1.05;
  PerNode<bool> filled(pipeline.size(), false);
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    const Node& node = pipeline[n];
    if (node.kind != Kind::kCache || node.inputs.empty()) continue;
    const double own = window.total[n].elements;
    filled[n] = own > kReplayed * window.total[node.inputs.front()].elements;
  }
  return filled;
}

}  // namespace plumber
