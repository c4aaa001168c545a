// SPDX-License-Identifier: Apache-2.0
// Maps above a shuffle go below it where a cache can then keep what they make, and nowhere else.
#include <fmt/format.h>

#include "catch2_any.h"
#include "optimize/moves.h"
#include "optimize/plan_check.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

struct Shuffled {
  int maps = 1;
  bool by_chance = false;
  bool repeats_below = false;  // the repeat stands between shuffle and map
  bool twice = false;          // two shuffles in a row
  double bytes = 1000;         // of what a map makes
};

/// The places of 64 small records are drawn, then they are decoded.
SmallPipeline shuffled(const Shuffled& how) {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 1, .elements = 64, .bytes = 100});
  p.may_cache(files);
  NodeId top = p.add("ShuffleDatasetV3", {files}, {.elements = 64, .bytes = 100});
  p.pipeline[top].buffer_size = 40;
  if (how.twice) {
    top = p.add("ShuffleDatasetV3", {top}, {.elements = 64, .bytes = 100});
    p.pipeline[top].buffer_size = 40;
  }
  if (how.repeats_below) {
    top = p.add("RepeatDataset", {top}, {.elements = 64, .bytes = 100});
    p.pipeline[top].count = -1;
  }
  for (int i = 0; i < how.maps; ++i) {
    top = p.map(top, "_decode", {.work_ms = 20, .calls = 64, .elements = 64, .bytes = how.bytes});
    if (how.by_chance) p.random(top);
  }
  p.finish(p.batch(top, 64, {.work_ms = 0.1, .bytes = 64 * how.bytes}));
  return p;
}

std::string moves_of(const SmallPipeline& p, bool caches = true, double memory_bytes = 8e9) {
  OptimizeOptions options = within(2, memory_bytes);
  options.allow_cache = caches;
  std::string text;
  for (const Edit& edit : choose_moves(p.pipeline, p.analysis, options).edits)
    text += fmt::format("{} {} {}\n", edit_word(edit.kind), edit.node, edit.to);
  return text;
}

TEST_CASE("a map goes below the shuffle under it, where a cache can keep what it makes") {
  CHECK(moves_of(shuffled({})) == "reorder MapDataset/_2 ShuffleDatasetV3/_1\n");
  CHECK(moves_of(shuffled({.maps = 2})) ==
        "reorder MapDataset/_2 ShuffleDatasetV3/_1\nreorder MapDataset/_3 ShuffleDatasetV3/_1\n");
  CHECK(moves_of(shuffled({.repeats_below = true})) ==
        "reorder MapDataset/_3 RepeatDataset/_2\nreorder MapDataset/_3 ShuffleDatasetV3/_1\n");
  CHECK(moves_of(shuffled({.twice = true})) ==
        "reorder MapDataset/_3 ShuffleDatasetV3/_2\nreorder MapDataset/_3 ShuffleDatasetV3/_1\n");
}

TEST_CASE("a map stays above the shuffle where no cache comes of it") {
  CHECK(moves_of(shuffled({}), false).empty());
  CHECK(moves_of(shuffled({.by_chance = true})).empty());
  CHECK(moves_of(shuffled({.bytes = 1e6}), true, 50e6).empty());  // no room for what it makes
}

TEST_CASE("the shuffle holds what the map makes, and the map is called once for each of an epoch") {
  const SmallPipeline p = shuffled({.repeats_below = true, .bytes = 5000});
  OptimizeOptions options = within(2, 8e9);
  options.allow_cache = true;
  const Moved moved = choose_moves(p.pipeline, p.analysis, options).moved;
  const NodeId shuffle = *find_node(moved.pipeline, "ShuffleDatasetV3/_1");
  const NodeId map = *find_node(moved.pipeline, "MapDataset/_3");
  CHECK(moved.pipeline[shuffle].inputs == std::vector<NodeId>{map});
  CHECK(moved.analysis.nodes[shuffle].bytes_per_element == 5000);
  CHECK(moved.analysis.nodes[map].elements_per_epoch.kind == Cardinality::Kind::kKnown);
  CHECK(moved.analysis.nodes[map].cache.legal);
}

TEST_CASE("a plan with a map below a shuffle and a cache between is checked as what it is") {
  const auto verdict = [](const SmallPipeline& p, bool lowers) {
    Plan plan;
    plan.graph_fingerprint = "test";
    const Edit lower{"E1", EditKind::kReorder, "MapDataset/_2", "ShuffleDatasetV3/_1", {}, "", {},
                     ""};
    const Edit cache{"E2", EditKind::kInsertCache, "MapDataset/_2", "", {}, "", {}, ""};
    plan.edits = lowers ? std::vector<Edit>{lower, cache} : std::vector<Edit>{cache};
    try {
      check_plan(p.pipeline, p.analysis, plan, "plan.json");
      return std::string("fine");
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
  };
  SmallPipeline p = shuffled({});
  p.analysis.nodes[NodeId{2}].cache = {CacheClass::kOrder, false, "it shuffles", "frozen-order",
                                       true};
  CHECK(verdict(p, true) == "fine");
  CHECK(verdict(p, false).find("no cache can stand there: it shuffles") != std::string::npos);
  CHECK(verdict(shuffled({.by_chance = true}), true).find("draws by chance") != std::string::npos);
}

}  // namespace
}  // namespace plumber
