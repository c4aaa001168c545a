// SPDX-License-Identifier: Apache-2.0
#include "ops/cost_model.h"

#include <algorithm>
#include <map>

#include "ops/bursts.h"
#include "ops/contention.h"
#include "ops/disk_load.h"
#include "ops/hand_off.h"
#include "ops/pauses.h"
#include "ops/take_waste.h"

namespace plumber {
namespace {

// Share of the cores that is usable where elements change threads after little work, and after
// more. Measured on two cores; on more of them elements of any size change threads often, so that
// work must count and not time.
constexpr double kUsableSmall = 0.8;
constexpr double kUsableLarge = 0.92;
constexpr double kSmallWork_s = 150e-6;  // of each of at most two cores, between two hand-overs
constexpr double kMeasuredCores = 2;

bool is_parallel_interleave(const Node& node, const NodeSetting& s) {
  const bool inner_data_sets = node.kind == Kind::kInterleave || node.kind == Kind::kFlatMap;
  return inner_data_sets && is_parallel(s.mode);
}

bool is_short(const NodeCost& cost) {
  return cost.calls > 0 && cost.work_s < kShortCall_s * cost.calls;
}

// Sums of one thread per root element.
struct Segment {
  double work_s = 0;
  double calls = 0;  // dispatched ones
  double dispatch_s = 0;
  double handover_s = 0;   // pops and pushes at its ends
  double parallelism = 1;  // threads that share it: readers of a parallel interleave
  double clamped_s = 0;
  std::map<NodeId, double> shares;
};

// Calls of a parallel op per root element.
struct Calls {
  NodeId node{};
  ParallelCost cost;
  double idle_s = 0;  // core seconds that too few of them lose
};

class Evaluator {
 public:
  Evaluator(const Pipeline& p, const Costs& costs, const Setting& setting, const Machine& machine)
      : p_(p),
        costs_(costs),
        setting_(setting),
        machine_(machine),
        h_(costs.hand_off),
        active_(active_nodes(p, setting)),
        pauses_(pauses_above(p, costs, setting)),
        above_(p.size(), 0),
        below_(p.size(), 0),
        above_prefetch_(p.size(), 0) {
    result_.segment = PerNode<int>(p.size(), 0);
  }

  Evaluation run() {
    number_segments();
    add_work();
    add_dispatch();
    add_handovers();
    add_thread_bounds();
    add_calls();
    add_parallel_bounds();
    add_cpu_bound();
    add_disk_bound();
    add_python_bound();
    finish();
    return std::move(result_);
  }

 private:
  NodeId id(std::size_t i) const { return static_cast<NodeId>(i); }

  int new_segment(double parallelism) {
    segments_.emplace_back();
    segments_.back().parallelism = std::max(1.0, parallelism);
    return static_cast<int>(segments_.size()) - 1;
  }

  // above_: the thread that pulls the node's elements. below_: the one that pulls its inputs.
  void number_segments() {
    new_segment(1);
    for (std::size_t i = p_.size(); i-- > 0;) {
      const NodeId n = id(i);
      int segment = above_[n];
      if (setting_[n].prefetch_above && active_[n])
        segment = new_segment(segments_[at(segment)].parallelism);
      above_prefetch_[n] = above_[n];
      above_[n] = segment;
      const bool interleave = is_parallel_interleave(p_[n], setting_[n]);
      if (is_boundary(p_[n], setting_[n]) && active_[n])
        segment = new_segment(segments_[at(segment)].parallelism);
      below_[n] = segment;
      for (const NodeId input : p_[n].inputs) above_[input] = segment;
      const int inner = interleave && active_[n] && !p_[n].inner.empty()
                            ? new_segment(readers_at_once(p_[n], setting_[n]))
                            : segment;
      for (const NodeId root : p_[n].inner) above_[root] = inner;
      result_.segment[n] = segment;
    }
  }

  static std::size_t at(int segment) { return static_cast<std::size_t>(segment); }
  Segment& seg(int segment) { return segments_[at(segment)]; }

  void charge(int segment, NodeId n, double s) {
    if (s <= 0) return;
    seg(segment).shares[n] += s;
  }

  // Work that runs on the thread which pulls the node: everything but parallel calls.
  void add_work() {
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const NodeId n = id(i);
      const NodeCost& cost = costs_.nodes[n];
      if (!active_[n]) continue;
      if (served_from_cache(n)) {
        const double read_s = cache_read_s(n);
        seg(above_[n]).work_s += read_s;
        charge(above_[n], n, read_s);
        cpu_s_ += read_s;
        continue;
      }
      if (setting_[n].on_disk) add_written(n);
      cpu_s_ += cost.cpu_s;
      if (is_parallel(setting_[n].mode) && !is_parallel_interleave(p_[n], setting_[n])) continue;
      const int where = is_boundary(p_[n], setting_[n]) ? below_[n] : above_[n];
      seg(where).work_s += cost.work_s;
      if (cost.work_clamped) seg(where).clamped_s += cost.work_s;
      charge(where, n, cost.work_s);
      if (setting_[n].mode == Mode::kDispatched) seg(where).calls += cost.calls;
    }
  }

  bool served_from_cache(NodeId n) const {
    return setting_[n].cached && p_[n].kind != Kind::kCache;
  }

  FileElements file_elements(NodeId n) const {
    return {costs_.nodes[n].elements, p_[n].components};
  }

  double cache_read_s(NodeId n) const {
    const NodeCost& cost = costs_.nodes[n];
    return setting_[n].on_disk ? file_cache_read_s(file_elements(n), cost.file_cache_bytes)
                               : h_.cache_read * cost.elements;
  }

  // A cache on disk in its first epoch.
  void add_written(NodeId n) {
    const double write_s = file_cache_write_s(file_elements(n), costs_.nodes[n].file_cache_bytes);
    seg(above_[n]).work_s += write_s;
    charge(above_[n], n, write_s);
    cpu_s_ += write_s;
  }

  void add_dispatch() {
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const NodeId n = id(i);
      const double calls = costs_.nodes[n].calls;
      if (!active_[n] || served_from_cache(n) || calls <= 0) continue;
      const NodeSetting& s = setting_[n];
      if (s.mode == Mode::kDispatched) {
        Segment& segment = seg(above_[n]);
        const double x_s = segment.calls > 0 ? segment.work_s / segment.calls : 0;
        const double wait_s = calls * dispatch_latency_s(h_, x_s);
        segment.dispatch_s += wait_s;
        charge(above_[n], n, wait_s);
        cpu_s_ += calls * dispatch_cpu_s(h_, x_s);
      } else if (is_parallel(s.mode) && !is_parallel_interleave(p_[n], s)) {
        const double runner_s = h_.runner * calls;
        seg(below_[n]).handover_s += runner_s;
        charge(below_[n], n, runner_s);
      }
    }
  }

  // A parallel op's pushes are part of its calls, so only the popping side pays.
  void hand_over(NodeId n, int from, int to, double block = 1) {
    const double elements = costs_.nodes[n].elements;
    if (elements <= 0 || from == to) return;
    const bool calls = above_[n] == to && is_parallel(setting_[n].mode) &&
                       !is_parallel_interleave(p_[n], setting_[n]);
    for (const int side : calls ? std::vector<int>{to} : std::vector<int>{from, to}) {
      const double think_s = side == 0 ? costs_.think_time_s : 0;
      const double x_s = (seg(side).work_s + think_s) / elements;
      const double cost_s = element_handover_s(h_, p_[n], x_s, block) * elements;
      seg(side).handover_s += cost_s;
      charge(side, n, cost_s);
      cpu_s_ += cost_s;
    }
    most_handed_over_ = std::max(most_handed_over_, elements);
  }

  void add_handovers() {
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const NodeId n = id(i);
      if (!active_[n]) continue;
      if (setting_[n].prefetch_above) hand_over(n, above_[n], above_prefetch_[n]);
      if (is_boundary(p_[n], setting_[n]) && !served_from_cache(n))
        hand_over(n, below_[n], above_[n], block_of(p_[n]));
      if (is_parallel_interleave(p_[n], setting_[n]) && !served_from_cache(n))
        for (const NodeId root : p_[n].inner)
          hand_over(root, above_[root], below_[n], block_of(p_[n]));
    }
  }

  void add_bound(BoundKind kind, std::map<NodeId, double> shares, double period_s) {
    if (!(period_s > 0)) return;
    std::vector<std::pair<double, NodeId>> order;
    for (const auto& [node, share] : shares) order.emplace_back(-share, node);
    std::stable_sort(order.begin(), order.end());
    Bound bound{kind, {}, 1 / period_s};
    for (const auto& entry : order) bound.nodes.push_back(entry.second);
    result_.bounds.push_back(std::move(bound));
  }

  void add_thread_bounds() {
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      Segment& segment = segments_[s];
      const double own_s = segment.work_s + segment.dispatch_s + segment.handover_s;
      const double think_s = s == 0 ? costs_.think_time_s : 0;
      const bool consumer = think_s > own_s;
      const double period_s = own_s / segment.parallelism + think_s;
      add_bound(consumer ? BoundKind::kConsumer : BoundKind::kThread, segment.shares, period_s);
      if (!consumer) busiest_thread_s_ = std::max(busiest_thread_s_, period_s);
      note_period(period_s, segment.dispatch_s / segment.parallelism, segment.clamped_s);
    }
  }

  void note_period(double period_s, double dispatch_s, double clamped_s) {
    if (period_s <= result_.period_s) return;
    result_.period_s = period_s;
    result_.dispatch_s = dispatch_s;
    result_.clamped_work_s = clamped_s;
  }

  void add_calls() {
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const NodeId n = id(i);
      const NodeSetting& s = setting_[n];
      if (!active_[n] || served_from_cache(n) || !is_parallel(s.mode) ||
          is_parallel_interleave(p_[n], s))
        continue;
      ParallelCost cost =
          parallel_cost(h_, p_[n], costs_.nodes[n], calls_in_flight(s, machine_.cores));
      cpu_s_ += cost.cpu_s;
      if (is_short(costs_.nodes[n])) most_short_calls_ = std::max(most_short_calls_, s.parallelism);
      // One call in flight: the runner fetches its next input only when the call is done.
      if (s.parallelism < 2) {
        const Segment& runner = seg(below_[n]);
        cost.own_s += runner.work_s + runner.dispatch_s;
      }
      calls_.push_back(
          {n, cost, idle_in_pauses_s(pauses_[n], s.parallelism, cost.call_cpu_s, machine_.cores)});
    }
  }

  // Cores that wait in pauses are lost by too few calls: the node that loses most answers for it.
  void add_parallel_bounds() {
    double idle_s = 0, most_s = 0;
    for (const Calls& calls : calls_) {
      idle_s += calls.idle_s;
      most_s = std::max(most_s, calls.idle_s);
    }
    for (const Calls& calls : calls_) {
      const NodeCost& cost = costs_.nodes[calls.node];
      double period_s = calls.cost.own_s;
      if (most_s > 0 && calls.idle_s == most_s)
        period_s = std::max(period_s, cores_period_s(cpu_s_ + idle_s));
      add_bound(BoundKind::kParallel, {{calls.node, period_s}}, period_s);
      note_period(
          period_s, calls.cost.dispatch_s,
          cost.work_clamped ? cost.work_s / std::max(1.0, setting_[calls.node].parallelism) : 0);
    }
  }

  // Period at which the cores have done so many core seconds, as far as they can be busy.
  double cores_period_s(double core_s) const {
    const double ideal_s = core_s / machine_.cores;
    if (!costs_.hand_off_known) return ideal_s;
    const bool spare = most_short_calls_ >= kSpareCalls * machine_.cores;
    const bool small = !spare && core_s / std::min(machine_.cores, kMeasuredCores) <
                                     kSmallWork_s * most_handed_over_;
    return ideal_s / (small ? kUsableSmall : kUsableLarge);
  }

  void add_cpu_bound() {
    result_.cpu_s = cpu_s_;
    if (most_handed_over_ <= 0 || machine_.cores <= 0) return;
    std::map<NodeId, double> shares;
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const NodeCost& cost = costs_.nodes[id(i)];
      const double cpu_s = served_from_cache(id(i)) ? cache_read_s(id(i)) : cost.cpu_s;
      if (active_[id(i)] && cpu_s > 0) shares[id(i)] = cpu_s;
    }
    const double period_s = cores_period_s(cpu_s_);
    result_.usable_cores = period_s > 0 ? cpu_s_ / period_s : 0;
    // Node times of the other dialect hold what waiting costs already.
    const double beside_s = costs_.hand_off_known
                                ? beside_busy_cores_s(busiest_thread_s_, period_s, machine_.cores)
                                : std::max(busiest_thread_s_, period_s);
    const bool cores_bind = period_s >= busiest_thread_s_;
    add_bound(BoundKind::kCpu, std::move(shares), cores_bind ? beside_s : period_s);
    if (!cores_bind) slow_busiest_thread(beside_s);
    note_period(cores_bind ? beside_s : period_s, 0, 0);
  }

  void slow_busiest_thread(double period_s) {
    for (Bound& bound : result_.bounds) {
      const bool busiest =
          bound.kind == BoundKind::kThread && bound.bound_per_s == 1 / busiest_thread_s_;
      if (busiest) bound.bound_per_s = 1 / period_s;
    }
    result_.period_s = std::max(result_.period_s, period_s);
  }

  void add_disk_bound() {
    for (DiskLoad& load : disk_loads(p_, costs_, {setting_, result_.segment, machine_})) {
      add_bound(BoundKind::kDisk, std::move(load.shares), load.period_s);
      note_period(load.period_s, 0, 0);
    }
  }

  void add_python_bound() {
    std::map<NodeId, double> shares;
    double held_s = 0;
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const NodeCost& cost = costs_.nodes[id(i)];
      if (!active_[id(i)] || !cost.python || served_from_cache(id(i))) continue;
      // A function that waits has let the lock go.
      const double lock_s = std::min(cost.work_s, cost.cpu_s);
      shares[id(i)] = lock_s;
      held_s += lock_s;
    }
    add_bound(BoundKind::kPythonLock, std::move(shares), held_s);
    note_period(held_s, 0, 0);
  }

  void finish() {
    std::stable_sort(result_.bounds.begin(), result_.bounds.end(),
                     [](const Bound& a, const Bound& b) { return a.bound_per_s < b.bound_per_s; });
  }

  const Pipeline& p_;
  const Costs& costs_;
  const Setting& setting_;
  const Machine& machine_;
  const HandOff& h_;
  PerNode<bool> active_;
  PerNode<Pause> pauses_;
  PerNode<int> above_, below_;
  PerNode<int> above_prefetch_;  // the thread above the prefetch inserted above a node
  std::vector<Segment> segments_;
  std::vector<Calls> calls_;
  Evaluation result_;
  double cpu_s_ = 0;
  double most_handed_over_ = 0;  // elements per root element over the busiest boundary
  double most_short_calls_ = 0;  // in flight, of a parallel op
  double busiest_thread_s_ = 0;  // longest period of a thread
};

}  // namespace

Evaluation evaluate(const Pipeline& pipeline, const Costs& costs, const Setting& setting,
                    const Machine& machine) {
  const auto begun = begun_below_takes(pipeline, costs, setting);
  const Costs wasteful = begun ? with_waste(costs, *begun) : Costs();
  const Costs& all = begun ? wasteful : costs;
  Evaluation result = Evaluator(pipeline, all, setting, machine).run();
  add_bursts(pipeline, all, setting, result);
  return result;
}

}  // namespace plumber
