// SPDX-License-Identifier: Apache-2.0
// Algebraic moves as stories: what goes where, what it brings, and what stays with its reason.
#include "optimize/moves.h"

#include <fmt/format.h>

#include <algorithm>

#include "catch2_any.h"
#include "moves_story.h"

namespace plumber {
namespace {

/// One element in four is kept of what a map makes.
SmallPipeline sharded(bool by_chance) {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 1, .elements = 64});
  NodeId map = p.map(files, "_decode", {.work_ms = 40, .calls = 64, .elements = 64});
  if (by_chance) p.random(map);
  const NodeId shard = p.add("ShardDataset", {map}, {.elements = 16});
  p.finish(p.batch(shard, 16, {.work_ms = 1}));
  return p;
}

TEST_CASE("a shard goes below the map whose elements it throws away") {
  const SmallPipeline p = sharded(false);
  CHECK(moves_story(p).starts_with("reorder ShardDataset/_2 MapDataset/_1\n"));
  const ChosenMoves chosen = choose_moves(p.pipeline, p.analysis, without_caches());
  const auto map = find_node(chosen.moved.pipeline, "MapDataset/_1");
  REQUIRE(map);
  CHECK(chosen.moved.analysis.costs.nodes[*map].calls == 16);
  CHECK(chosen.moved.analysis.costs.nodes[*map].work_s == Approx(10e-3));
  CHECK(chosen.edits[0].gain_per_s.value_or(0) > 0);
}

TEST_CASE("a map goes above no seeded shuffle whose repeat ends: their order would change") {
  const auto said_of = [](std::int64_t times, bool seed) {
    SmallPipeline p;
    const NodeId files = p.source("TFRecordDataset", {.work_ms = 1, .elements = 64});
    const NodeId map = p.map(files, "_decode", {.work_ms = 40, .calls = 64, .elements = 64});
    const NodeId shuffle = p.add("ShuffleDatasetV3", {map}, {.elements = 64});
    p.pipeline[shuffle].buffer_size = 100;
    p.pipeline[shuffle].fixed_seed = seed;
    const NodeId repeat = p.add("RepeatDataset", {shuffle}, {.elements = 64});
    p.pipeline[repeat].count = times;
    p.finish(p.batch(repeat, 16, {.work_ms = 1}));
    return moves_story(p).find("one op of a shuffle and its repeat") != std::string::npos;
  };
  CHECK(said_of(2, true));
  CHECK_FALSE(said_of(2, false));
  CHECK_FALSE(said_of(-1, true));
}

/// A take of so many elements above a map with 16 calls, and a repeat above.
SmallPipeline taken(std::int64_t count) {
  SmallPipeline p;
  const NodeId range = p.source("RangeDataset", {.work_ms = 0.001, .per_epoch = 1e6});
  const NodeId map =
      p.parallel_map(range, "_decode", 16, {.work_ms = 2, .calls = 1, .per_epoch = 1e6});
  const NodeId take = p.add("TakeDataset", {map}, {});
  p.pipeline[take].count = count;
  p.finish(p.add("RepeatDataset", {take}, {}));
  p.analysis.costs.nodes[take].elements_left = 1e6;
  return p;
}

TEST_CASE("a take goes below the parallel map whose calls it throws away at each end of a pass") {
  const SmallPipeline p = taken(16);
  CHECK(moves_story(p).starts_with("reorder TakeDataset/_2 ParallelMapDatasetV2/_1\n"));
  const ChosenMoves chosen = choose_moves(p.pipeline, p.analysis, without_caches());
  CHECK(chosen.edits[0].reason ==
        "the map begins no calls whose results the take throws away when it has its 16 elements");
  // 0.7 of 16 calls for 16 elements.
  const double before_per_s =
      evaluate(p.pipeline, p.analysis.costs, traced_setting(p.pipeline), {2})
          .bounds.front()
          .bound_per_s;
  CHECK(chosen.edits[0].gain_per_s.value_or(0) / before_per_s == Approx(0.7).epsilon(0.05));
}

TEST_CASE("of many elements the calls in flight are too few to matter") {
  CHECK(moves_story(taken(100'000)).find("not reorder TakeDataset/_2") != std::string::npos);
  CHECK(moves_story(taken(100'000))
            .find("too little; a take stops asking, and of calls only those in flight are for what "
                  "is cut off") != std::string::npos);
}

TEST_CASE("not below a map that draws by chance: others would be drawn") {
  CHECK(moves_story(sharded(true))
            .starts_with("not reorder ShardDataset/_2: MapDataset/_1 below it: its function calls "
                         "RandomUniform, which "
                         "draws by chance\n"));
}

TEST_CASE("no moves where they are not wanted") {
  OptimizeOptions options = without_caches();
  options.allow_moves = false;
  CHECK(moves_story(sharded(false), options).empty());
}

TEST_CASE("a batch goes below a map whose function works on batches") {
  SmallPipeline p;
  const NodeId lines = p.source("TextLineDataset", {.work_ms = 0.05, .elements = 128, .bytes = 40});
  const NodeId map =
      p.map(lines, "_decode", {.work_ms = 0.6, .calls = 128, .elements = 128, .bytes = 16});
  p.pipeline[map].function->why_not_batched.clear();
  p.finish(p.batch(map, 128, {.work_ms = 0.07, .bytes = 2048}));
  CHECK(moves_story(p).starts_with("reorder BatchDatasetV2/_2 MapDataset/_1\n"));
  p.pipeline[map].function->why_not_batched = "Exp";
  CHECK(moves_story(p).find("does not work on batches: Exp") != std::string::npos);
}

TEST_CASE("a cache above chance goes below it with permission only") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 1, .elements = 16});
  const NodeId map = p.random(p.map(files, "_flip", {.work_ms = 2, .calls = 16, .elements = 16}));
  p.finish(p.batch(p.add("CacheDatasetV2", {map}, {.elements = 16}), 16));
  CHECK(moves_story(p).find("draws by chance (--allow unfreeze)") != std::string::npos);
  OptimizeOptions unfreezing = without_caches();
  unfreezing.permissions = {Permission::kUnfreeze};
  CHECK(moves_story(p, unfreezing).starts_with("reorder CacheDatasetV2/_2 MapDataset/_1\n"));
}

/// A short epoch out of a cache whose elements cost more to hand on than the built-in constant.
SmallPipeline served() {
  SmallPipeline p;
  const NodeId source = p.source("TFRecordDataset", {.work_ms = 1, .elements = 64});
  const NodeId lower = p.map(source, "_parse", {.work_ms = 4, .calls = 64, .elements = 64});
  const NodeId upper = p.map(lower, "_scale", {.work_ms = 0.1, .calls = 64, .elements = 64});
  const NodeId cache = p.add("CacheDatasetV2", {upper}, {.work_ms = 0.3, .elements = 64});
  const NodeId shuffle = p.add("ShuffleDatasetV3", {cache}, {.work_ms = 0.1, .elements = 64});
  p.pipeline[shuffle].buffer_size = 16;
  p.finish(p.prefetch(p.batch(shuffle, 64, {.work_ms = 0.1}), 2));
  p.may_cache(lower);
  p.may_cache(upper);
  return p;
}

TEST_CASE("a cache is not taken out to be put back where it stood, or beside it for less") {
  const SmallPipeline p = served();
  OptimizeOptions options = without_caches();
  options.allow_cache = true;
  const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
  for (const Edit& edit : result.plan.edits) {
    INFO(edit_word(edit.kind) << " " << edit.node << ": " << edit.reason);
    CHECK(edit.kind != EditKind::kRemove);
    CHECK(edit.kind != EditKind::kInsertCache);
  }
}

TEST_CASE("a cache that makes room for a better one says so") {
  SmallPipeline p = served();  // the cache's elements are large, those below it small
  const NodeId lower = *find_node(p.pipeline, "MapDataset/_1");
  for (const char* name : {"MapDataset/_2", "CacheDatasetV2/_3"}) {
    NodeAnalysis& node = p.analysis.nodes[*find_node(p.pipeline, name)];
    node.bytes_per_element = 1e6;
    node.materialized_bytes = 1e9;
  }
  p.analysis.costs.nodes[*find_node(p.pipeline, "MapDataset/_2")].work_s = 1e-6;
  OptimizeOptions options = without_caches();
  options.allow_cache = true;
  options.limits.memory_bytes = 1.2e9;
  const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
  const auto removal = std::ranges::find(result.plan.edits, EditKind::kRemove, &Edit::kind);
  REQUIRE(removal != result.plan.edits.end());
  CHECK(removal->reason == "the cache after " + p.pipeline[lower].name + " takes its place");
}

TEST_CASE("a partial last batch that is dropped keeps batch and unbatch") {
  SmallPipeline p;
  const NodeId source = p.source("RangeDataset", {.work_ms = 0.1, .elements = 64});
  const NodeId batch = p.batch(source, 8, {.work_ms = 0.5, .elements = 8});
  const NodeId unbatch = p.add("UnbatchDataset", {batch}, {.work_ms = 0.5, .elements = 64});
  p.finish(p.map(unbatch, "_f", {.work_ms = 0.1, .calls = 64, .elements = 64}));
  CHECK(moves_story(p).starts_with("remove UnbatchDataset/_2 \n"));
  p.pipeline[batch].drop_remainder = true;
  CHECK(moves_story(p).find("drops a partial last batch") != std::string::npos);
}

/// A map that works on batches, and two batches above it.
SmallPipeline batch_of_batches() {
  SmallPipeline p;
  const NodeId source = p.source("RangeDataset", {.work_ms = 0.05, .elements = 128, .bytes = 8});
  p.pipeline[source].equal_shapes = true;
  const NodeId map =
      p.map(source, "_triple", {.work_ms = 0.6, .calls = 128, .elements = 128, .bytes = 8});
  p.pipeline[map].function->why_not_batched.clear();
  const NodeId batch = p.batch(map, 64, {.work_ms = 0.07, .elements = 2, .bytes = 512});
  p.finish(p.batch(batch, 2, {.work_ms = 0.07, .bytes = 1024}));
  return p;
}

TEST_CASE("a map goes above one batch, not above a batch of batches") {
  SmallPipeline p = batch_of_batches();
  const std::string said = moves_story(p);
  CHECK(said.starts_with("reorder BatchDatasetV2/_2 MapDataset/_1\n"));
  CHECK(said.find("reorder BatchDatasetV2/_3 MapDataset/_1\n") == std::string::npos);
  CHECK(said.find("not reorder BatchDatasetV2/_3: MapDataset/_1 below it: it works on batches "
                  "already, the last of which may be shorter\n") != std::string::npos);
}

TEST_CASE(
    "a map that comes below a batch which drops batches of other lengths is not fused with it") {
  SmallPipeline p = batch_of_batches();
  const NodeId map = *find_node(p.pipeline, "MapDataset/_1");
  const NodeId batch = *find_node(p.pipeline, "BatchDatasetV2/_2");
  p.pipeline[map].function->facts.control_flow = {"If"};  // never inline
  const auto fusion_off = [&] {
    const OptimizeResult result = optimize(p.pipeline, p.analysis, without_caches());
    return std::ranges::count(result.plan.edits, "experimental_optimization.map_and_batch_fusion",
                              &Edit::to);
  };
  CHECK(fusion_off() == 0);
  p.pipeline[p.pipeline.root].drop_remainder = true;
  CHECK(fusion_off() == 1);
  p.pipeline[batch].equal_shapes = p.pipeline[batch].drop_remainder = true;
  CHECK(fusion_off() == 0);
}

TEST_CASE("batches of sparse and ragged tensors are taken apart as they were") {
  SmallPipeline p;
  const NodeId source = p.source("TensorSliceDataset", {.work_ms = 0.1, .elements = 64});
  const NodeId batch = p.batch(source, 8, {.work_ms = 0.5, .elements = 8});
  const NodeId unbatch = p.add("UnbatchDataset", {batch}, {.work_ms = 2, .elements = 64});
  p.finish(p.batch(unbatch, 64, {.work_ms = 2}));
  const auto becomes = [&](const std::string& text) {
    return moves_story(p).find(text) != std::string::npos;
  };
  const std::string kept = "not remove UnbatchDataset/_2: its elements are not known to be plain";
  CHECK(becomes("convert BatchDatasetV2/_3 RebatchDatasetV2\n"));
  p.pipeline[unbatch].plain_tensors = false;
  CHECK(becomes(kept));
  CHECK_FALSE(becomes("RebatchDatasetV2"));
  p.pipeline[p.pipeline.root].op = "PaddedBatchDatasetV2";  // which only both could go below
  CHECK(becomes(kept));
  CHECK_FALSE(moves_story(p).starts_with("remove"));
  p.pipeline[unbatch].plain_tensors = true;
  CHECK(moves_story(p).starts_with("remove UnbatchDataset/_2 \n"));
}

TEST_CASE("a program too large to try moves in says so") {
  SmallPipeline p;
  NodeId last = p.source("TFRecordDataset", {.work_ms = 1});
  for (int i = 0; i < 210; ++i) last = p.prefetch(last, 2);
  p.finish(last);
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 1e12));
  const auto says = [](const std::string& text) { return text.starts_with("nodes stay where"); };
  CHECK(std::ranges::count_if(result.warnings, says) == 1);
  OptimizeOptions without = within(2, 1e12);
  without.allow_moves = false;
  CHECK(std::ranges::count_if(optimize(p.pipeline, p.analysis, without).warnings, says) == 0);
}

/// Lines of text: 40 a root element, 10 us of work each; the filter keeps four in five.
SmallPipeline tokens() {
  SmallPipeline p;
  const NodeId lines =
      p.source("TextLineDataset", {.work_ms = 0.02, .elements = 40, .bytes = 50, .per_epoch = 1e5});
  p.pipeline[lines].equal_shapes = true;
  const NodeId map = p.map(
      lines, "_ids", {.work_ms = 0.4, .calls = 40, .elements = 40, .bytes = 90, .per_epoch = 1e5});
  const NodeId filter = p.with_function(
      p.add("FilterDataset", {map},
            {.work_ms = 0.04, .calls = 40, .elements = 32, .bytes = 90, .per_epoch = 8e4}),
      "_long");
  p.finish(p.add("PaddedBatchDatasetV2", {filter}, {.work_ms = 0.03, .bytes = 3000}));
  p.pipeline[p.pipeline.root].count = 32;
  return p;
}

OptimizeOptions with_cores(double cores) {
  OptimizeOptions options = without_caches();
  options.limits.cores = cores;
  return options;
}

std::string chunk_story(const SmallPipeline& p, double cores) {
  const ChosenMoves chosen = choose_moves(p.pipeline, p.analysis, with_cores(cores));
  std::string text;
  for (const Edit& edit : chosen.edits)
    text += fmt::format("{} {} {}\n", edit_word(edit.kind), edit.node, edit.to);
  for (const Rejected& rejected : chosen.rejected)
    if (rejected.edit == "insert_chunks")
      text += fmt::format("not {}: {}\n", rejected.node, rejected.reason);
  return text;
}

TEST_CASE("functions too short to hand over use many cores in chunks") {
  const std::string chunks = "plumber/chunks/TextLineDataset/_0";
  CHECK(chunk_story(tokens(), 16) ==
        "insert_chunks TextLineDataset/_0 18\n"
        "move_into_function MapDataset/_1 " +
            chunks +
            "\n"
            "move_into_function FilterDataset/_2 " +
            chunks + "\n");
  CHECK(chunk_story(tokens(), 1).empty());
}

TEST_CASE("chunks that bring less than predictions may be off are left out, and it says so") {
  SmallPipeline p = tokens();
  p.analysis.costs.nodes[*find_node(p.pipeline, "TextLineDataset/_0")].work_s = 5e-3;
  CHECK(chunk_story(p, 16) ==
        "not TextLineDataset/_0: 199/s and 1.03 MiB with it, 188/s and 10.2 KiB without: too "
        "little; another structure has to bring 10 %, more than predictions may be off\n");
}

TEST_CASE("what chunks cost is paid an element and a chunk") {
  const SmallPipeline p = tokens();
  const ChosenMoves chosen = choose_moves(p.pipeline, p.analysis, with_cores(16));
  const Pipeline& moved = chosen.moved.pipeline;
  const auto cost_of = [&](const std::string& name) {
    return chosen.moved.analysis.costs.nodes[*find_node(moved, name)];
  };
  const double size = static_cast<double>(std::get<std::int64_t>(chosen.edits[0].value));
  CHECK(cost_of("plumber/chunk/TextLineDataset/_0").elements == Approx(40 / size));
  CHECK(cost_of("plumber/chunks/TextLineDataset/_0>TensorSliceDataset").elements == Approx(40));
  CHECK(cost_of("plumber/chunks/TextLineDataset/_0").elements == Approx(32));
  CHECK(cost_of("MapDataset/_1").work_s == Approx(0.4e-3));
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const auto source = original_of(p.pipeline, moved, static_cast<NodeId>(i));
    CHECK(source.has_value());  // whatever a plan makes belongs to a node as traced
  }
}

TEST_CASE("no chunks of elements that make no batch, and none that would draw alike") {
  SmallPipeline p = tokens();
  p.pipeline[*find_node(p.pipeline, "TextLineDataset/_0")].equal_shapes = false;
  CHECK(chunk_story(p, 16) ==
        "not TextLineDataset/_0: its elements may differ in shape, so they make no chunk\n");
  SmallPipeline seeded = tokens();
  for (const char* name : {"MapDataset/_1", "FilterDataset/_2"})
    seeded.pipeline[*find_node(seeded.pipeline, name)].function->facts.seeded = {"RandomUniform"};
  const std::string why =
      "its function calls RandomUniform with a seed, and would draw the same in each chunk\n";
  CHECK(chunk_story(seeded, 16) == "not MapDataset/_1: " + why + "not FilterDataset/_2: " + why);
}

TEST_CASE("a batch goes into the chunks where nothing below it is lost") {
  SmallPipeline p;
  const NodeId records = p.source(
      "TFRecordDataset", {.work_ms = 0.02, .elements = 32, .bytes = 100, .per_epoch = 1e5});
  p.pipeline[records].equal_shapes = true;
  const NodeId map =
      p.map(records, "_parse", {.work_ms = 0.6, .calls = 32, .elements = 32, .per_epoch = 1e5});
  p.finish(p.batch(map, 32, {.work_ms = 0.05, .bytes = 32000}));
  const ChosenMoves chosen = choose_moves(p.pipeline, p.analysis, with_cores(16));
  REQUIRE(chosen.edits.size() == 3);
  CHECK(chosen.edits[2].node == "BatchDatasetV2/_2");
  CHECK(std::get<std::int64_t>(chosen.edits[0].value) % 32 == 0);
}

}  // namespace
}  // namespace plumber
