// SPDX-License-Identifier: Apache-2.0
#include "optimize/ledger.h"

#include "catch2_any.h"
#include "ops/memory_ledger.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

TEST_CASE("calls in flight of one node are what the whole ledger says they are") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 1});
  const NodeId map = p.map(files, "_decode", {.work_ms = 10, .calls = 16, .bytes = 5000});
  const NodeId filter = p.with_function(p.add("FilterDataset", {map}, {.bytes = 700}), "_keep");
  const NodeId fused =
      p.with_function(p.add("MapAndBatchDataset", {filter}, {.bytes = 9000}), "_f");
  p.pipeline[fused].count = 4;
  const NodeId batch = p.batch(fused, 16, {.bytes = 80'000});
  p.finish(batch);
  const OptimizeOptions options;
  const Problem problem = make_problem(p.pipeline, p.analysis, options, {4});
  for (const NodeId id : {map, filter, fused, batch}) {
    CAPTURE(p.pipeline[id].name);
    Setting one = problem.stock, many = problem.stock;
    one[id] = {Mode::kParallel, 1};
    many[id] = {Mode::kParallel, 9};
    const auto held = [&](const Setting& setting) {
      return memory_ledger(p.pipeline, p.analysis.nodes, setting).held_bytes;
    };
    const double by_ledger = held(many) - held(one);
    CHECK(in_flight_bytes(problem, id, many[id]) - in_flight_bytes(problem, id, one[id]) ==
          Approx(by_ledger));
    CHECK(by_ledger > 0);
  }
}

TEST_CASE("what runs inline or one after the other holds no calls") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 1});
  const NodeId map = p.parallel_map(files, "_decode", 4, {.work_ms = 10, .calls = 16});
  const NodeId read = p.with_function(p.add("ParallelInterleaveDatasetV4", {map}, {}), "_read");
  p.pipeline[read].cycle_length = 4;
  p.finish(read);
  const OptimizeOptions options;
  const Problem problem = make_problem(p.pipeline, p.analysis, options, {4});
  for (const NodeId id : {map, read}) {
    CAPTURE(p.pipeline[id].name);
    Setting sequential = problem.stock;
    sequential[id] = {Mode::kInline, 1};
    const auto held = [&](const Setting& setting) {
      return memory_ledger(p.pipeline, p.analysis.nodes, setting).held_bytes;
    };
    CHECK(in_flight_bytes(problem, id, sequential[id]) == 0);
    CHECK(held(problem.stock) - held(sequential) ==
          Approx(in_flight_bytes(problem, id, problem.stock[id])));
    CHECK(held(problem.stock) > held(sequential));
  }
}

}  // namespace
}  // namespace plumber
