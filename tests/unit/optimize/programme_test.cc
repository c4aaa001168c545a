// SPDX-License-Identifier: Apache-2.0
// The programme by itself: options written by hand, optima worked out by hand, in milliseconds.
#include "optimize/programme.h"

#include "catch2_any.h"
#include "lp/glpk_solver.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

constexpr double kMs = 1e-3;

ModeOption sequential(double work_ms) {
  ModeOption mode;
  mode.thread_s = mode.cpu_s = work_ms * kMs;
  return mode;
}

ModeOption parallel(double work_ms, int calls) {
  ModeOption mode;
  mode.boundary = true;
  mode.own_s = work_ms * kMs / calls;
  mode.cpu_s = work_ms * kMs;
  mode.threads = calls;
  mode.edits = 1;
  return mode;
}

/// A source, a map, a batch in a chain; one mode each.
struct Chain {
  SmallPipeline p;
  ProgrammeInput input;
  NodeId source{0}, map{1}, batch{2};

  Chain(double source_ms, double map_ms, double batch_ms) {
    const NodeId first = p.source("TFRecordDataset", {});
    p.finish(p.batch(p.map(first, "_f", {}), 16));
    input.pipeline = &p.pipeline;
    input.nodes = PerNode<NodeOptions>(3);
    input.nodes[source].modes = {sequential(source_ms)};
    input.nodes[map].modes = {sequential(map_ms)};
    input.nodes[batch].modes = {sequential(batch_ms)};
    input.usable_cores = 4;
  }

  double period_ms() const {
    const Programme programme = build_programme(input, 1e-6);
    const Solution solution = solve(programme.program);
    REQUIRE(solution.status == SolveStatus::kOptimal);
    return solution.objective * programme.unit_s / kMs;
  }

  Decisions decisions() const {
    const Programme programme = build_programme(input, 1e-6);
    return decisions_of(programme, solve(programme.program));
  }
};

TEST_CASE("one thread: the sum of all work and the consumer's think time") {
  Chain chain(1, 8, 2);
  chain.input.think_s = 0.5 * kMs;
  CHECK(chain.period_ms() == Approx(11.5));
}

TEST_CASE("one thread does not compete with itself for a core") {
  Chain chain(1, 8, 2);
  chain.input.usable_cores = 0.5;
  CHECK(chain.period_ms() == Approx(11));
}

TEST_CASE("a prefetch splits the thread where the longer side is shortest") {
  Chain chain(3, 8, 2);
  chain.input.nodes[chain.source].prefetch = true;
  chain.input.nodes[chain.map].prefetch = true;
  CHECK(chain.period_ms() == Approx(8));  // three threads
  CHECK(chain.decisions()[chain.source].prefetch);
  chain.input.nodes[chain.source].prefetch_above_s = 4 * kMs;  // handing over costs more than that
  CHECK(chain.period_ms() == Approx(11));
  CHECK_FALSE(chain.decisions()[chain.source].prefetch);
}

TEST_CASE("calls in flight, until the cores are busy") {
  Chain chain(1, 8, 1);
  chain.input.nodes[chain.map].modes.push_back(parallel(8, 4));
  CHECK(chain.period_ms() == Approx(2.5));  // 10 ms of CPU on 4 cores
  chain.input.usable_cores = 8;
  CHECK(chain.period_ms() == Approx(2));  // 8 ms over 4 calls
}

TEST_CASE("a cache serves all below it") {
  Chain chain(1, 8, 2);
  chain.input.nodes[chain.map].cache_bytes = 100e6;
  chain.input.nodes[chain.map].cache_read_s = 0.1 * kMs;
  CHECK(chain.period_ms() == Approx(2.1));
  chain.input.memory_bytes = 99e6;
  CHECK(chain.period_ms() == Approx(11));
}

TEST_CASE("one cache on a path, and memory for what it leaves") {
  Chain chain(1, 8, 2);
  chain.input.nodes[chain.source].cache_bytes = 10e6;
  chain.input.nodes[chain.map].cache_bytes = 100e6;
  chain.input.memory_bytes = 1e9;
  CHECK(chain.decisions()[chain.map].cache);
  CHECK_FALSE(chain.decisions()[chain.source].cache);
  chain.input.memory_bytes = 50e6;
  CHECK(chain.decisions()[chain.source].cache);
}

TEST_CASE("disk and the Python lock are shared by all threads") {
  Chain chain(1, 1, 1);
  chain.input.nodes[chain.source].disk_s = {20 * kMs};
  chain.input.disks = 1;
  CHECK(chain.period_ms() == Approx(20));
  chain.input.nodes[chain.map].python_s = 30 * kMs;
  CHECK(chain.period_ms() == Approx(30));
}

TEST_CASE("the second run takes the fewest edits that keep the period") {
  Chain chain(1, 8, 1);
  chain.input.nodes[chain.map].modes.push_back(parallel(8, 2));
  chain.input.nodes[chain.map].modes.push_back(parallel(8, 4));
  chain.input.nodes[chain.map].prefetch = true;
  chain.input.nodes[chain.source].prefetch = true;
  const Programme programme = build_programme(chain.input, 1e-6);
  const auto fewest = [&](double period_ms) {
    const Programme second = fewest_edits_programme(programme, chain.input, period_ms * kMs);
    return decisions_of(second, solve(second.program));
  };
  CHECK(fewest(11) == Decisions(3));
  CHECK(fewest(4.1)[chain.map].mode == 1);
  CHECK(fewest(2.6)[chain.map].mode == 2);
  CHECK_FALSE(fewest(2.6)[chain.source].prefetch);
}

TEST_CASE("a parallel interleave reads several data sets at a time") {
  SmallPipeline p;
  const NodeId files = p.source("TensorSliceDataset", {});
  const NodeId reader = p.source("TFRecordDataset", {});
  const NodeId interleave = p.add("InterleaveDataset", {files}, {});
  p.pipeline[interleave].inner = {reader};
  p.pipeline[reader].outer = interleave;
  p.finish(interleave);
  ProgrammeInput input;
  input.pipeline = &p.pipeline;
  input.usable_cores = 16;
  input.nodes = PerNode<NodeOptions>(3);
  input.nodes[files].modes = {sequential(0)};
  input.nodes[reader].modes = {sequential(12)};
  ModeOption beside = parallel(0, 4);
  beside.inner_share = 0.25;
  input.nodes[interleave].modes = {sequential(1), beside};
  const Programme programme = build_programme(input, 1e-6);
  const Solution solution = solve(programme.program);
  CHECK(solution.objective * programme.unit_s == Approx(3 * kMs));
  CHECK(decisions_of(programme, solution)[interleave].mode == 1);
}

TEST_CASE("three thousand nodes without a choice are a handful of rows") {
  SmallPipeline p;
  NodeId top = p.source("TFRecordDataset", {});
  for (int i = 0; i < 3000; ++i) top = p.map(top, "_f", {});
  p.finish(top);
  ProgrammeInput input;
  input.pipeline = &p.pipeline;
  input.nodes = PerNode<NodeOptions>(p.pipeline.size());
  for (NodeOptions& node : input.nodes) node.modes = {sequential(0.001)};
  const Programme programme = build_programme(input, 1e-6);
  CHECK(programme.program.rows.size() <= 4);
  CHECK(solve(programme.program).objective * programme.unit_s == Approx(3.001 * kMs));
}

}  // namespace
}  // namespace plumber
