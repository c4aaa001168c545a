// SPDX-License-Identifier: Apache-2.0
// Algebraic moves as stories: what goes where, what it brings, and what stays with its reason.
#include "optimize/moves.h"

#include <fmt/format.h>

#include <algorithm>

#include "catch2_any.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

OptimizeOptions options_for(std::set<Permission> permissions = {}) {
  OptimizeOptions options;
  options.limits.cores = 2;
  options.limits.memory_bytes = 8e9;
  options.allow_cache = false;
  options.permissions = std::move(permissions);
  return options;
}

std::string story(const SmallPipeline& p, const OptimizeOptions& options = options_for()) {
  const ChosenMoves chosen = choose_moves(p.pipeline, p.analysis, options, 2);
  std::string text;
  for (const Edit& edit : chosen.edits)
    text += fmt::format("{} {} {}\n", edit_word(edit.kind), edit.node, edit.to);
  for (const Rejected& rejected : chosen.rejected)
    text += fmt::format("not {} {}: {}\n", rejected.edit, rejected.node, rejected.reason);
  return text;
}

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
  CHECK(story(p).starts_with("reorder ShardDataset/_2 MapDataset/_1\n"));
  const ChosenMoves chosen = choose_moves(p.pipeline, p.analysis, options_for(), 2);
  const auto map = find_node(chosen.moved.pipeline, "MapDataset/_1");
  REQUIRE(map);
  CHECK(chosen.moved.analysis.costs.nodes[*map].calls == 16);
  CHECK(chosen.moved.analysis.costs.nodes[*map].work_s == Approx(10e-3));
  CHECK(chosen.edits[0].gain_per_s.value_or(0) > 0);
}

TEST_CASE("not below a map that draws by chance: others would be drawn") {
  CHECK(story(sharded(true))
            .starts_with("not reorder ShardDataset/_2: MapDataset/_1 below it: its function calls "
                         "RandomUniform, which "
                         "draws by chance\n"));
}

TEST_CASE("no moves where they are not wanted") {
  OptimizeOptions options = options_for();
  options.allow_moves = false;
  CHECK(story(sharded(false), options).empty());
}

TEST_CASE("a batch goes below a map whose function works on batches") {
  SmallPipeline p;
  const NodeId lines = p.source("TextLineDataset", {.work_ms = 0.05, .elements = 128, .bytes = 40});
  const NodeId map =
      p.map(lines, "_decode", {.work_ms = 0.6, .calls = 128, .elements = 128, .bytes = 16});
  p.pipeline[map].function->why_not_batched.clear();
  p.finish(p.batch(map, 128, {.work_ms = 0.07, .bytes = 2048}));
  CHECK(story(p).starts_with("reorder BatchDatasetV2/_2 MapDataset/_1\n"));
  p.pipeline[map].function->why_not_batched = "Exp";
  CHECK(story(p).find("does not work on batches: Exp") != std::string::npos);
}

TEST_CASE("a cache above chance goes below it with permission only") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 1, .elements = 16});
  const NodeId map = p.random(p.map(files, "_flip", {.work_ms = 2, .calls = 16, .elements = 16}));
  p.finish(p.batch(p.add("CacheDatasetV2", {map}, {.elements = 16}), 16));
  CHECK(story(p).find("draws by chance (--allow unfreeze)") != std::string::npos);
  CHECK(story(p, options_for({Permission::kUnfreeze}))
            .starts_with("reorder CacheDatasetV2/_2 MapDataset/_1\n"));
}

TEST_CASE("a partial last batch that is dropped keeps batch and unbatch") {
  SmallPipeline p;
  const NodeId source = p.source("RangeDataset", {.work_ms = 0.1, .elements = 64});
  const NodeId batch = p.batch(source, 8, {.work_ms = 0.5, .elements = 8});
  const NodeId unbatch = p.add("UnbatchDataset", {batch}, {.work_ms = 0.5, .elements = 64});
  p.finish(p.map(unbatch, "_f", {.work_ms = 0.1, .calls = 64, .elements = 64}));
  CHECK(story(p).starts_with("remove UnbatchDataset/_2 \n"));
  p.pipeline[batch].drop_remainder = true;
  CHECK(story(p).find("drops a partial last batch") != std::string::npos);
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

}  // namespace
}  // namespace plumber
