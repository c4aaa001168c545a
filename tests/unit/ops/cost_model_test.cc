// SPDX-License-Identifier: Apache-2.0
// Periods worked out by hand from the formulas in ops/cost_model.h.
#include "ops/cost_model.h"

#include <cmath>

#include "catch2_any.h"
#include "ops/bookkeeping.h"
#include "ops/hand_off.h"
#include "ops/inline_probe.h"
#include "pipeline_builder.h"

namespace plumber {
namespace {

// range -> map -> batch(32), 32 calls of 100 us of work; a batch takes 50 us.
struct Chain {
  Pipeline pipeline;
  Costs costs;
  Setting setting;
  NodeId range{0}, map{1}, batch{2};

  Chain() {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(1000);
    b.add("map", "MapDataset", {"range"}).function({});
    b.add("batch", "BatchDatasetV2", {"map"}).count(32);
    pipeline = b.build();
    costs.nodes = PerNode<NodeCost>(3);
    costs.nodes[range] = cost(0, 32, 0);
    costs.nodes[map] = cost(32 * 100e-6, 32, 32);
    costs.nodes[batch] = cost(50e-6, 1, 0);
    setting = traced_setting(pipeline);
  }

  static NodeCost cost(double work_s, double elements, double calls) {
    NodeCost c;
    c.work_s = c.cpu_s = work_s;
    c.elements = elements;
    c.calls = calls;
    return c;
  }

  Evaluation on(double cores) const { return evaluate(pipeline, costs, setting, {cores}); }
};

}  // namespace

TEST_CASE("a synchronous chain: work, and the latency of every dispatched call") {
  Chain c;
  const double work_s = 32 * 100e-6 + 50e-6;
  const double wait_s = 32 * dispatch_latency_s(c.costs.hand_off, work_s / 32);
  const Evaluation e = c.on(2);
  CHECK(e.period_s == Approx(work_s + wait_s));
  CHECK(e.dispatch_s == Approx(wait_s));
  REQUIRE(e.bounds.size() == 1);  // nothing runs beside it, so the cores do not bind
  CHECK(e.bounds[0].kind == BoundKind::kThread);
  CHECK(e.bounds[0].nodes == std::vector<NodeId>{c.map, c.batch});
}

TEST_CASE("stock TensorFlow parallelises maps of the main program, not those in functions") {
  Chain c;
  CHECK(stock_setting(c.pipeline, {4})[c.map].mode == Mode::kParallel);
  c.pipeline[c.map].outer = c.batch;
  CHECK(stock_setting(c.pipeline, {4})[c.map].mode == Mode::kDispatched);
}

TEST_CASE("an inline function costs its work alone") {
  Chain c;
  c.setting[c.map].mode = Mode::kInline;
  CHECK(c.on(2).period_s == Approx(32 * 100e-6 + 50e-6));
}

TEST_CASE("what inline functions of the program take is in no node: it is what else was measured") {
  Chain c;
  const double batch_s = 50e-6;
  CHECK_FALSE(add_inline_work(c.pipeline, {1, 2}, c.costs));  // none is inline
  c.pipeline[c.map].inter_op = false;
  c.costs.nodes[c.map].work_s = c.costs.nodes[c.map].cpu_s = 0;
  REQUIRE(add_inline_work(c.pipeline, {batch_s + 32 * 7e-6, 2}, c.costs));
  CHECK(c.costs.nodes[c.map].work_s == Approx(32 * 7e-6));
  CHECK(c.costs.nodes[c.batch].work_s == Approx(batch_s));
}

TEST_CASE("a program without AUTOTUNE saves its bookkeeping, and keeps a fifth of a node's time") {
  Chain c;
  c.costs.nodes[c.batch].bookkeeping_s = 20e-6;
  c.costs.nodes[c.map].bookkeeping_s = 1;
  const Costs without = without_bookkeeping(c.costs);
  CHECK(without.nodes[c.batch].work_s == Approx(30e-6));
  CHECK(without.nodes[c.map].cpu_s == Approx(0.2 * 32 * 100e-6));
  CHECK(without.hand_off.cache_read < c.costs.hand_off.cache_read);
}

TEST_CASE("an inline probe's CPU is the sum of the work: node times are scaled to it") {
  Chain c;
  correct_by_probe(c.pipeline, {0.6 * (32 * 100e-6 + 50e-6), 2}, c.costs);
  CHECK(c.costs.nodes[c.map].work_s == Approx(0.6 * 32 * 100e-6));
  CHECK(c.costs.nodes[c.batch].cpu_s == Approx(0.6 * 50e-6));
  correct_by_probe(c.pipeline, {1e9, 2}, c.costs);  // another program ran: not believed
  CHECK(c.costs.nodes[c.batch].cpu_s == Approx(1.5 * 0.6 * 50e-6));
  correct_by_probe(c.pipeline, {0, 2}, c.costs);  // no probe
  CHECK(c.costs.nodes[c.batch].cpu_s == Approx(1.5 * 0.6 * 50e-6));
}

TEST_CASE("an inline probe leaves control flow and Python dispatched, and so does its sum") {
  Chain c;
  FunctionFacts& facts = c.pipeline[c.map].function->facts;
  const double work_s = 32 * 100e-6 + 50e-6;
  const double hand_offs_s = 32 * dispatch_cpu_s(c.costs.hand_off, work_s / 32);
  for (auto* names : {&facts.control_flow, &facts.python}) {
    facts = {};
    *names = {"Op"};
    correct_by_probe(c.pipeline, {work_s + hand_offs_s, 2}, c.costs);
    CHECK(c.costs.nodes[c.map].work_s == Approx(32 * 100e-6));
  }
}

TEST_CASE("a probe that is mostly hand-offs changes the work no more than it is sure of") {
  Chain c;
  Node& filter = c.pipeline[c.batch];  // stays dispatched in the probe
  filter.op = "FilterDataset";
  filter.kind = Kind::kFilter;
  filter.function = c.pipeline[c.map].function;
  c.costs.nodes[c.batch].calls = 32;
  const double work_s = 32 * 100e-6 + 50e-6;
  const double hand_offs_s = 32 * dispatch_cpu_s(c.costs.hand_off, work_s / 32);
  correct_by_probe(c.pipeline, {work_s + 0.9 * hand_offs_s, 2}, c.costs);
  CHECK(c.costs.nodes[c.map].work_s == Approx(32 * 100e-6));
  correct_by_probe(c.pipeline, {work_s + 1.3 * hand_offs_s, 2}, c.costs);
  CHECK(c.costs.nodes[c.map].work_s == Approx(32 * 100e-6 * (1 + 0.1 * hand_offs_s / work_s)));
}

TEST_CASE("a call takes its time whatever its ops do: no correction goes below that") {
  Chain c;
  Function& function = *c.pipeline[c.map].function;
  for (const auto& [ops, measured_us] :
       {std::pair(3, 0.43), std::pair(5, 0.52), std::pair(11, 0.76)}) {
    function.facts.ops = ops;
    CHECK(inline_call_s(function) == Approx(measured_us * 1e-6).epsilon(0.03));
  }
  NodeCost& cost = c.costs.nodes[c.map];
  cost.least_s = 0.9 * cost.work_s;
  cost.bookkeeping_s = 1;
  CHECK(without_bookkeeping(c.costs).nodes[c.map].work_s == Approx(cost.least_s));
  correct_by_probe(c.pipeline, {0.6 * (32 * 100e-6 + 50e-6), 2}, c.costs);
  CHECK(cost.work_s == Approx(cost.least_s));
}

TEST_CASE("think time adds to the consumer's thread, a prefetch takes the work off it") {
  Chain c;
  c.setting[c.map].mode = Mode::kInline;
  c.costs.think_time_s = 4e-3;
  const double work_s = 32 * 100e-6 + 50e-6;
  CHECK(c.on(2).period_s == Approx(work_s + 4e-3));
  c.setting[c.batch].prefetch_above = true;
  const Evaluation e = c.on(2);
  CHECK(e.bounds[0].kind == BoundKind::kConsumer);
  CHECK(e.period_s ==
        Approx(4e-3 + handover_s(c.costs.hand_off, 4e-3) + c.costs.hand_off.component));
}

TEST_CASE("a parallel map divides its calls by their number until the cores bind") {
  Chain c;
  c.setting[c.map] = {Mode::kParallel, 4, false, false};
  const ParallelCall call = parallel_call(c.costs.hand_off, 100e-6, {4, 64});
  const Evaluation many = c.on(64);
  CHECK(many.bounds[0].kind == BoundKind::kParallel);
  // The longest of four calls holds the others back.
  CHECK(many.period_s == Approx(32 * (100e-6 + call.wall_s) / 4 * order_loss(4, kHeldBackAtLeast)));
  CHECK(order_loss(4, kHeldBackAtLeast) == Approx(1.125));
  const Evaluation two = c.on(2);
  CHECK(two.bounds[0].kind == BoundKind::kCpu);
  CHECK(two.period_s == Approx(two.cpu_s / (2 * 0.92)));  // there is always a call to run
  const Evaluation three = c.on(3);
  CHECK(three.period_s == Approx(three.cpu_s / (3 * 0.8)));  // elements change threads often
}

TEST_CASE("what lies below a filled cache costs nothing") {
  Chain c;
  c.setting[c.map].cached = true;
  const Evaluation e = c.on(2);
  CHECK(e.period_s == Approx(32 * c.costs.hand_off.cache_read + 50e-6));
  CHECK(e.bounds[0].nodes == std::vector<NodeId>{c.batch, c.map});
}

TEST_CASE("a disk binds by the bytes read, unless a cache keeps it idle") {
  Chain c;
  c.costs.nodes[c.range].disk_bytes = 1e6;
  const Machine machine{64, {{"", flat_disk(1e6)}}};
  CHECK(evaluate(c.pipeline, c.costs, c.setting, machine).period_s == Approx(1));
  c.setting[c.map].cached = true;
  CHECK(evaluate(c.pipeline, c.costs, c.setting, machine).period_s < 0.01);
}

TEST_CASE("Python functions share one lock whatever their parallelism") {
  Chain c;
  c.costs.nodes[c.map].python = true;
  c.setting[c.map] = {Mode::kParallel, 16, false, false};
  const Evaluation e = c.on(16);
  CHECK(e.bounds[0].kind == BoundKind::kPythonLock);
  CHECK(e.period_s == Approx(32 * 100e-6));
}

TEST_CASE("stock TensorFlow parallelises what it takes for stateless and prefetches at the root") {
  Chain c;
  Setting stock = stock_setting(c.pipeline, {8});
  CHECK(stock[c.map].mode == Mode::kParallel);
  CHECK(stock[c.map].parallelism == 8);
  CHECK(stock[c.batch].prefetch_above);
  c.pipeline[c.map].function->facts.random = {"RandomUniform"};
  stock = stock_setting(c.pipeline, {8});
  CHECK(stock[c.map].mode == Mode::kDispatched);
}

}  // namespace plumber
