// SPDX-License-Identifier: Apache-2.0
// A map and batch in one, taken apart or left as it is.
#include "optimize/unfused.h"

#include "catch2_any.h"
#include "moves_story.h"

namespace plumber {
namespace {

/// A map and batch in one, with so much work a call.
SmallPipeline fused(double call_us, double rows = 256) {
  SmallPipeline p;
  const NodeId range =
      p.source("RangeDataset", {.work_ms = rows * 1e-4, .elements = rows, .per_epoch = 1e6});
  const NodeId both = p.with_function(
      p.add(
          "MapAndBatchDataset", {range},
          {.work_ms = rows * call_us * 1e-3, .calls = rows, .bytes = 8 * rows, .per_epoch = 4000}),
      "_scale");
  p.pipeline[both].parallelism = 4;
  p.pipeline[both].count = static_cast<std::int64_t>(rows);
  p.pipeline[both].equal_rows = true;
  p.finish(p.prefetch(both, 2));
  return p;
}

TEST_CASE(
    "a map and batch in one is taken apart where handing over its calls is all that it does") {
  const SmallPipeline p = fused(1);
  CHECK(moves_story(p).starts_with("unfuse MapAndBatchDataset/_1 \n"));
  const ChosenMoves chosen = choose_moves(p.pipeline, p.analysis, without_caches());
  const Pipeline& moved = chosen.moved.pipeline;
  const auto map = find_node(moved, "plumber/map/MapAndBatchDataset/_1");
  const auto batch = find_node(moved, "MapAndBatchDataset/_1");
  REQUIRE(map);
  REQUIRE(batch);
  CHECK(moved[*map].op == "ParallelMapDatasetV2");
  CHECK(moved[*batch].op == "BatchDatasetV2");
  CHECK(moved[*batch].inputs == std::vector<NodeId>{*map});
  CHECK(original_of(p.pipeline, moved, *map) == find_node(p.pipeline, "MapAndBatchDataset/_1"));
  const NodeCost& calls = chosen.moved.analysis.costs.nodes[*map];
  CHECK(calls.calls == 256);
  CHECK(calls.elements == 256);
  CHECK(calls.work_s == Approx(256e-6).epsilon(0.01));
  CHECK(chosen.moved.analysis.nodes[*map].bytes_per_element == 8);
  CHECK(chosen.moved.analysis.costs.nodes[*batch].work_s == Approx(256 * 0.4e-6).epsilon(0.01));
  CHECK(chosen.edits[0].gain_per_s.value_or(0) > 0);
}

TEST_CASE("with long calls it stays as it is, and it says so") {
  const std::string told = moves_story(fused(2000));
  CHECK(told.find("not unfuse MapAndBatchDataset/_1: ") != std::string::npos);
  CHECK(told.find("too little; with 2 ms of work a call, handing it to a thread costs little") !=
        std::string::npos);
}

TEST_CASE("a map and batch in one stays where its function makes data sets or errors are ignored") {
  SmallPipeline p = fused(1);
  const NodeId both = *find_node(p.pipeline, "MapAndBatchDataset/_1");
  p.finish(p.add("IgnoreErrorsDataset", {p.pipeline.root}, {}));
  CHECK(
      moves_story(p).find("not unfuse MapAndBatchDataset/_1: IgnoreErrorsDataset/_3 drops elements "
                          "whose function fails") != std::string::npos);
  p.pipeline[both].function.reset();
  CHECK(moves_story(p).find("not unfuse MapAndBatchDataset/_1: its function is not known") !=
        std::string::npos);
}

TEST_CASE("a map goes into chunks out of its batch, with the batch behind it") {
  SmallPipeline p = fused(40);
  p.pipeline[*find_node(p.pipeline, "RangeDataset/_0")].equal_shapes = true;
  const std::string chunks = "plumber/chunks/RangeDataset/_0\n";
  CHECK(moves_story(p, without_caches(16))
            .starts_with("unfuse MapAndBatchDataset/_1 \n"
                         "insert_chunks RangeDataset/_0 18\n"
                         "move_into_function plumber/map/MapAndBatchDataset/_1 " +
                         chunks + "move_into_function MapAndBatchDataset/_1 " + chunks));
}

}  // namespace
}  // namespace plumber
