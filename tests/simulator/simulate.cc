// SPDX-License-Identifier: Apache-2.0
#include "simulate.h"

#include <algorithm>
#include <set>

#include "ops/hand_off.h"
#include "optimize/programme_input.h"
#include "pipeline/below.h"
#include "streams.h"

namespace plumber::simulated {
namespace {

constexpr double kEndless = 1e6;  // elements of a data set

int positive(const std::optional<std::int64_t>& value, int otherwise) {
  return value && *value > 0 ? static_cast<int>(*value) : otherwise;
}

/// Builds the iterators of a program.
class Builder {
 public:
  Builder(const Program& program, Host& host) : program_(program), host_(host) {
    for (std::size_t i = 0; i < p().size(); ++i) {
      const Node& node = p()[static_cast<NodeId>(i)];
      const bool differs = node.function || node.kind == Kind::kFileSource;
      draws_.emplace_back(differs ? host.options().spread : Spread::kNone,
                          host.options().seed + static_cast<unsigned>(i));
    }
  }

  StreamPtr build(NodeId n) {
    StreamPtr stream = build_node(n);
    if (!setting(n).prefetch_above) return stream;
    return make_prefetch(host_, std::move(stream), {program_.buffers[n], p()[n].components});
  }

 private:
  const Pipeline& p() const { return *program_.pipeline; }
  const NodeSetting& setting(NodeId n) const { return program_.setting[n]; }
  const NodeCost& cost(NodeId n) const { return program_.costs->nodes[n]; }
  double elements(NodeId n) const { return cost(n).elements > 0 ? cost(n).elements : 1; }

  void add(const std::vector<NodeId>& nodes, double per_root, std::vector<Input>& inputs) {
    for (const NodeId from : nodes)
      inputs.push_back({build(from), Ratio(cost(from).elements / per_root)});
  }

  std::vector<Input> inputs(NodeId n, double per_root) {
    std::vector<Input> inputs;
    if (!opened_apart_.contains(n)) add(p()[n].inputs, per_root, inputs);
    add(p()[n].inner, per_root, inputs);
    return inputs;
  }

  /// Of one call, or of one element where a node calls nothing.
  Work work(NodeId n, double per_root) const {
    const NodeCost& all = cost(n);
    // Where node times hold the hand-off, calls that are not busy wait for a core: not again here.
    const bool waits = !p()[n].function || all.python || program_.costs->hand_off.wp > 0;
    const double wait_s = waits ? std::max(0.0, all.work_s - all.cpu_s) : 0;
    return {all.cpu_s / per_root, wait_s / per_root, all.python};
  }

  double calls(NodeId n) const { return cost(n).calls > 0 ? cost(n).calls : elements(n); }

  std::optional<std::size_t> disk(NodeId n) const {
    if (!(cost(n).disk_bytes > 0)) return std::nullopt;
    const auto found = disk_of(host_.options().disks, cost(n).file);
    return found || host_.options().disks.empty() ? found : std::optional<std::size_t>(0);
  }

  StreamPtr build_node(NodeId n) {
    const Node& node = p()[n];
    if (setting(n).cached) return from_cache(n);
    if (node.kind == Kind::kPrefetch)
      return make_prefetch(host_, operation(n), {program_.buffers[n], node.components});
    if (!is_parallel(setting(n).mode)) return operation(n);
    const bool data_sets = node.kind == Kind::kInterleave || node.kind == Kind::kFlatMap;
    return data_sets && !node.inner.empty() ? readers(n) : parallel_calls(n);
  }

  StreamPtr from_cache(NodeId n) {
    const bool own = p()[n].kind == Kind::kCache;
    OperationTraits traits;
    traits.work = own ? work(n, elements(n)) : Work{host_.hand_off().cache_read};
    return make_operation({}, traits);
  }

  StreamPtr operation(NodeId n) {
    OperationTraits traits;
    if (p()[n].inner.empty())
      traits.work = work(n, calls(n));
    else  // a call only makes a data set, whose elements the node hands on
      traits.element_s = cost(n).cpu_s / elements(n);
    traits.calls = Ratio(opened_apart_.contains(n) ? 0 : calls(n) / elements(n));
    traits.dispatched = is_dispatched(n);
    traits.disk = disk(n);
    traits.disk_bytes = cost(n).disk_bytes / elements(n);
    traits.draw = &draws_[index_of(n)];
    return make_operation(inputs(n, elements(n)), traits);
  }

  StreamPtr parallel_calls(NodeId n) {
    const HandOff& h = host_.hand_off();
    const bool inline_body = setting(n).mode == Mode::kParallelInline;
    CallsTraits traits;
    traits.calls = std::max(1, static_cast<int>(setting(n).parallelism));
    traits.in_order = p()[n].deterministic;
    traits.work = work(n, calls(n));
    if (p()[n].kind == Kind::kBatch) traits.work.cpu_s *= 1 + h.cold_copy;
    if (h.wp > 0) {
      const double call_s = traits.work.cpu_s + traits.work.wait_s;
      const ParallelCall woken =
          parallel_call(h, call_s, {std::min(2.0, setting(n).parallelism), 2, inline_body});
      traits.wake_s = woken.wall_s;
      traits.spin_s = woken.cpu_s;
      traits.runner_s = h.runner;
    }
    traits.results = Ratio(calls(n) / elements(n));
    traits.components = p()[n].components;
    traits.draw = &draws_[index_of(n)];
    return make_calls(host_, inputs(n, calls(n)), traits);
  }

  bool is_dispatched(NodeId n) const {
    return setting(n).mode == Mode::kDispatched && cost(n).calls > 0;
  }

  StreamPtr readers(NodeId n) {
    const Node& node = p()[n];
    ReadersTraits traits;
    const int calls = std::max(1, static_cast<int>(setting(n).parallelism));
    traits.cycle = positive(node.cycle_length, calls);
    traits.readers = std::min(calls, traits.cycle);
    const std::int64_t ahead = node.prefetched_inputs.value_or(kAutotune);
    traits.ahead = ahead >= 0 ? static_cast<int>(ahead) : 2 * traits.cycle;
    traits.in_turn = node.deterministic;
    traits.block = positive(node.block_length, 1);
    traits.buffer = positive(node.buffer_size, 2 * traits.block);
    traits.components = node.components;
    traits.work = work(n, elements(n));
    const double data_sets = data_sets_of(n);
    traits.length = Ratio(std::min(elements(n) / data_sets, kEndless));
    std::vector<DataSetStreams> streams;
    const std::set<NodeId> around = std::exchange(opened_apart_, {});
    for (int i = 0; i < traits.cycle + traits.ahead; ++i) {
      StreamPtr opening = opening_of(n, data_sets);
      streams.push_back({std::move(opening), data_set_of(n)});
    }
    opened_apart_ = around;
    return make_readers(host_, std::move(streams), traits);
  }

  /// Data sets that an interleave reads per root element.
  double data_sets_of(NodeId n) const {
    const Node& node = p()[n];
    double opened = cost(n).iterators;
    if (!(opened > 0) && !node.inputs.empty()) opened = cost(node.inputs.front()).elements;
    return std::max(opened, elements(n) / kEndless);
  }

  /// What is done once for each data set: inside of it, lists are read and functions called that
  /// make the data set whose elements it has.
  StreamPtr opening_of(NodeId n, double data_sets) {
    constexpr double kOnce = 1.5;
    std::vector<Input> parts;
    for (const NodeId id : all_below(p(), p()[n].inner)) {
      const bool readers = is_parallel(setting(id).mode);
      if (p()[id].inner.empty() || readers || calls(id) > kOnce * data_sets) continue;
      std::vector<Input> lists;
      add(p()[id].inputs, data_sets, lists);
      OperationTraits traits;
      traits.calls = Ratio(calls(id) / data_sets);
      traits.dispatched = is_dispatched(id);
      parts.push_back({make_operation(std::move(lists), traits), Ratio(1)});
      opened_apart_.insert(id);
    }
    return make_operation(std::move(parts), {});
  }

  /// Its elements.
  StreamPtr data_set_of(NodeId n) {
    std::vector<Input> inputs;
    add(p()[n].inner, elements(n), inputs);
    return make_operation(std::move(inputs), {});
  }

  const Program& program_;
  Host& host_;
  std::deque<Draw> draws_;
  std::set<NodeId> opened_apart_;  // inside of the data set that is being built
};

Task consume(Host& host, Stream& root, double think_s, int& taken) {
  Thread thread(host);
  for (;;) {
    co_await root.next(thread);
    co_await thread.settle();
    ++taken;
    co_await host.simulation().sleep(think_s);
    thread.since_buffer_s += think_s;
  }
}

}  // namespace

Measured simulate(const Program& program, const HostOptions& options, const Horizon& horizon) {
  StreamPtr root;  // outlives the threads of the host, which refer to it
  Host host(options, program.costs->hand_off);
  Builder builder(program, host);
  root = builder.build(program.pipeline->root);
  int taken = 0;
  host.simulation().start(consume(host, *root, program.costs->think_time_s, taken));
  const auto run = [&](int until) {
    host.simulation().run_until([&] { return taken >= until; }, horizon.limit_s);
    return taken >= until;
  };
  if (!run(horizon.warm_up)) return {};
  const double from_s = host.simulation().now_s(), from_core_s = host.busy_core_s();
  const bool finished = run(horizon.warm_up + horizon.measured);
  const double took_s = host.simulation().now_s() - from_s;
  Measured measured;
  measured.end_s = host.simulation().now_s();
  if (finished && took_s > 0) measured.rate_per_s = horizon.measured / took_s;
  if (took_s > 0) measured.busy_cores = (host.busy_core_s() - from_core_s) / took_s;
  return measured;
}

Program program_of(const Problem& problem, const Settled& settled) {
  const Pipeline& pipeline = *problem.pipeline;
  Program program{&pipeline, &costs_of(problem, settled), settled.setting,
                  PerNode<int>(pipeline.size(), 2)};
  const double period_s = evaluate(problem, settled).period_s;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = pipeline[id];
    if (settled.setting[id].prefetch_above)
      program.buffers[id] = prefetch_size(problem, id, period_s);
    else if (settled.buffers[id] > 0)
      program.buffers[id] = settled.buffers[id];
    else if (node.kind == Kind::kPrefetch && node.buffer_size && *node.buffer_size > 0)
      program.buffers[id] = static_cast<int>(*node.buffer_size);
    else if (node.kind == Kind::kPrefetch && node.traced_buffer_size)
      program.buffers[id] = std::max(2, static_cast<int>(*node.traced_buffer_size));
  }
  return program;
}

}  // namespace plumber::simulated
