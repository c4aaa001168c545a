// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan_check.h"

#include <fmt/format.h>

#include "base/error.h"
#include "catch2_any.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

// Files, a shuffle, a random map, a batch.
SmallPipeline training() {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {});
  p.may_cache(files);
  const NodeId shuffle = p.add("ShuffleDatasetV3", {files}, {});
  p.pipeline[shuffle].buffer_size = 100;
  const NodeId map = p.random(p.map(shuffle, "_augment", {.calls = 1}));
  p.pipeline[map].function->facts.seeded = {"RandomUniform"};
  p.analysis.nodes[map].cache = {CacheClass::kContent, false, "it is random", "", false};
  const NodeId python = p.map(map, "_python", {.calls = 1});
  p.analysis.nodes[python].cache = {CacheClass::kContent, false, "it is Python", "pyfunc-cache",
                                    true};
  p.finish(p.batch(python, 16));
  return p;
}

Edit edit_of(EditKind kind, const std::string& node, const std::string& to = "",
             const EditValue& value = {}) {
  return {"E1", kind, node, to, value, "", std::nullopt, ""};
}

std::string verdict_of(const SmallPipeline& p, const std::vector<Edit>& edits,
                       std::vector<std::string> permissions = {}) {
  try {
    check_plan(p.pipeline, p.analysis, {"", edits, {}, std::move(permissions)}, "plan.json");
  } catch (const Error& error) {
    return error.where + ": " + error.what();
  }
  return "fine";
}

std::string verdict(const SmallPipeline& p, const Edit& edit,
                    std::vector<std::string> permissions = {}) {
  return verdict_of(p, {edit}, std::move(permissions));
}

constexpr std::int64_t kFour = 4;

TEST_CASE("a cache stands only where it keeps the elements") {
  const SmallPipeline p = training();
  CHECK(verdict(p, edit_of(EditKind::kInsertCache, "TFRecordDataset/_0")) == "fine");
  CHECK(verdict(p, edit_of(EditKind::kInsertCache, "MapDataset/_2"), {"pyfunc-cache"}) ==
        "plan.json: the program's elements would change:\n"
        "  edit E1 (insert_cache): node 'MapDataset/_2': no cache can stand there: it is random");
  CHECK(verdict(p, edit_of(EditKind::kInsertCache, "MapDataset/_3")) ==
        "plan.json: the program's elements would change:\n"
        "  edit E1 (insert_cache): node 'MapDataset/_3': no cache can stand there: it is Python "
        "(allowed by the permission pyfunc-cache)");
  CHECK(verdict(p, edit_of(EditKind::kInsertCache, "MapDataset/_3"), {"pyfunc-cache"}) == "fine");
}

TEST_CASE("calls beside each other draw other random values") {
  const SmallPipeline p = training();
  const Edit convert = edit_of(EditKind::kConvert, "MapDataset/_2", "ParallelMapDatasetV2", kFour);
  CHECK(verdict(p, convert).find("its random values have a seed") != std::string::npos);
  CHECK(verdict(p, convert, {"stateful-parallel"}) == "fine");
  const Edit other = edit_of(EditKind::kConvert, "MapDataset/_3", "ParallelMapDatasetV2", kFour);
  CHECK(verdict(p, other) == "fine");
}

TEST_CASE("a shuffle may grow but not shrink") {
  const SmallPipeline p = training();
  Edit edit = edit_of(EditKind::kSetBuffer, "ShuffleDatasetV3/_1", "", std::int64_t{99});
  CHECK(verdict(p, edit).find("it shuffles within 100 elements now") != std::string::npos);
  CHECK(verdict(p, edit, {"reshuffle"}) == "fine");
  edit.value = std::int64_t{101};
  CHECK(verdict(p, edit) == "fine");
}

// A map below or above a seeded shuffle and its repeat.
SmallPipeline seeded(bool map_below, std::int64_t times) {
  SmallPipeline p;
  NodeId below = p.source("TFRecordDataset", {});
  if (map_below) below = p.map(below, "_parse", {.calls = 1});
  NodeId shuffle = p.add("ShuffleDatasetV3", {below}, {});
  p.pipeline[shuffle].buffer_size = 100;
  p.pipeline[shuffle].fixed_seed = true;
  const NodeId next = map_below ? shuffle : p.map(shuffle, "_parse", {.calls = 1});
  const NodeId repeat = p.add("RepeatDataset", {next}, {});
  p.pipeline[repeat].count = times;
  p.finish(p.batch(repeat, 16));
  return p;
}

TEST_CASE("a seeded shuffle stays beside its repeat, or apart from it") {
  const std::string other =
      "plan.json: the program's elements would change:\n  all edits: node '{}': TensorFlow makes "
      "one op of a shuffle and its repeat, which draws its seeds in another way";
  const SmallPipeline beside = seeded(true, 2), apart = seeded(false, 2);
  const Edit lift = edit_of(EditKind::kReorder, "ShuffleDatasetV3/_2", "MapDataset/_1");
  const Edit on = edit_of(EditKind::kReorder, "RepeatDataset/_3", "MapDataset/_1");
  const Edit prefetch = edit_of(EditKind::kInsertPrefetch, "ShuffleDatasetV3/_2", "", kFour);
  CHECK(verdict(beside, lift) == fmt::format(fmt::runtime(other), "ShuffleDatasetV3/_2"));
  CHECK(verdict(beside, prefetch) == fmt::format(fmt::runtime(other), "ShuffleDatasetV3/_2"));
  CHECK(verdict_of(beside, {lift, on}) == "fine");
  CHECK(verdict(apart, edit_of(EditKind::kReorder, "RepeatDataset/_3", "MapDataset/_2")) ==
        fmt::format(fmt::runtime(other), "ShuffleDatasetV3/_1"));
  CHECK(verdict(seeded(true, -1), lift) == "fine");
  CHECK(verdict(seeded(true, -1), prefetch) == "fine");
  CHECK(verdict(beside, edit_of(EditKind::kSetBuffer, "ShuffleDatasetV3/_2", "", std::int64_t{200}))
            .find("another order of its seed") != std::string::npos);
}

TEST_CASE("options that leave the order to chance, and unknown permissions") {
  const SmallPipeline p = training();
  Edit edit = edit_of(EditKind::kSetOptions, "", "deterministic", false);
  CHECK(verdict(p, edit).find("left to chance") != std::string::npos);
  CHECK(verdict(p, edit, {"nondeterministic"}) == "fine");
  edit.value = true;
  CHECK(verdict(p, edit) == "fine");
  CHECK(verdict(p, edit, {"unfreze"}) == "plan.json: there is no permission 'unfreze'");
  CHECK(verdict(p, edit_of(EditKind::kInsertCache, "nowhere")) == "fine");  // the rewriter says so
}

TEST_CASE("Python that was called once at a time may keep state") {
  SmallPipeline p = training();
  FunctionFacts& facts = p.pipeline[NodeId{3}].function->facts;
  for (const EditKind kind : {EditKind::kConvert, EditKind::kParallelUnbounded}) {
    const Edit edit = edit_of(kind, "MapDataset/_3", "ParallelMapDatasetV2", kFour);
    facts.python = {"EagerPyFunc"};
    CHECK(verdict(p, edit).find("its function is Python (EagerPyFunc), which may keep state") !=
          std::string::npos);
    CHECK(verdict(p, edit, {"stateful-parallel"}) == "fine");
    facts.python = {"PyFuncStateless"};
    CHECK(verdict(p, edit) == "fine");
  }
}

TEST_CASE("a parallel map that was told to make one call at a time keeps their order") {
  SmallPipeline p = training();
  Node& map = p.pipeline[NodeId{3}];
  map.threading = Threading::kParallelCalls;
  map.function->facts.stateful = {"AssignAddVariableOp"};
  const Edit more = edit_of(EditKind::kSetParallelism, "MapDataset/_3", "", kFour);
  map.parallelism = 2;
  CHECK(verdict(p, more) == "fine");
  map.parallelism = 1;
  CHECK(verdict(p, more).find("its function keeps state (AssignAddVariableOp)") !=
        std::string::npos);
}

TEST_CASE("nodes change places only where no element could tell") {
  SmallPipeline p = training();
  const auto move = [&](const char* above, const char* below) {
    return verdict(p, edit_of(EditKind::kReorder, above, below));
  };
  CHECK(move("BatchDatasetV2/_4", "MapDataset/_3").find("does not work on batches") !=
        std::string::npos);
  const NodeId map{3};
  p.pipeline[map].function->why_not_batched.clear();
  CHECK(move("BatchDatasetV2/_4", "MapDataset/_3") == "fine");
  CHECK(move("MapDataset/_3", "BatchDatasetV2/_4") == "fine");  // the same move
  p.pipeline[map].function->facts.python = {"PyFunc"};
  CHECK(move("BatchDatasetV2/_4", "MapDataset/_3").find("Python may have effects") !=
        std::string::npos);
  CHECK(move("BatchDatasetV2/_4", "MapDataset/_2").find("draws by chance") != std::string::npos);
  CHECK(move("BatchDatasetV2/_4", "ShuffleDatasetV3/_1").find("no 1:1 map") != std::string::npos);
}

TEST_CASE("a cache above a map that went above a shuffle keeps the order of the shuffle") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {});
  const NodeId map = p.map(files, "_parse", {.calls = 1});
  p.may_cache(map);
  const NodeId shuffle = p.add("ShuffleDatasetV3", {map}, {});
  p.analysis.nodes[shuffle].cache = {CacheClass::kOrder, false, "it shuffles", "frozen-order",
                                     true};
  p.finish(p.batch(shuffle, 16));
  const Edit swap = edit_of(EditKind::kReorder, "ShuffleDatasetV3/_2", "MapDataset/_1");
  const Edit turned = edit_of(EditKind::kReorder, "MapDataset/_1", "ShuffleDatasetV3/_2");
  const Edit cache = edit_of(EditKind::kInsertCache, "MapDataset/_1");
  CHECK(verdict_of(p, {cache}) == "fine");
  for (const Edit& move : {swap, turned}) {
    CHECK(verdict_of(p, {move, cache}).find("no cache can stand there: it shuffles") !=
          std::string::npos);
    CHECK(verdict_of(p, {move, cache}, {"frozen-order"}) == "fine");
  }
}

TEST_CASE("calls are those of the map that a batch takes in, whatever stood between") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {});
  const NodeId map = p.map(files, "_count", {.calls = 1});
  p.pipeline[map].function->facts.stateful = {"AssignAdd"};
  p.finish(p.batch(p.prefetch(map, 2), 16));
  const Edit remove = edit_of(EditKind::kRemove, "PrefetchDataset/_2");
  const auto fuse = [](std::int64_t calls) {
    return edit_of(EditKind::kConvert, "BatchDatasetV2/_3", "MapAndBatchDataset", calls);
  };
  CHECK(verdict_of(p, {remove, fuse(1)}) == "fine");
  CHECK(verdict_of(p, {remove, fuse(4)}).find("keeps state (AssignAdd)") != std::string::npos);
  const Edit calls = edit_of(EditKind::kSetParallelism, "BatchDatasetV2/_3", "", kFour);
  CHECK(verdict_of(p, {remove, fuse(1), calls}).find("keeps state") != std::string::npos);
  CHECK(verdict_of(p, {remove, fuse(1), calls}, {"stateful-parallel"}) == "fine");
  const Edit unfuse = edit_of(EditKind::kUnfuse, "BatchDatasetV2/_3");
  CHECK(verdict_of(p, {remove, fuse(1), unfuse, fuse(4)}).find("keeps state") != std::string::npos);
  const Edit beside =
      edit_of(EditKind::kConvert, "plumber/map/BatchDatasetV2/_3", "ParallelMapDatasetV2", kFour);
  CHECK(verdict_of(p, {remove, fuse(1), unfuse, beside}).find("keeps state") != std::string::npos);
}

// A map and batch in one of one call at a time, whose function draws from a seed.
SmallPipeline fused() {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.elements = 16});
  const NodeId both = p.with_function(p.add("MapAndBatchDataset", {files}, {.calls = 16}), "_f");
  p.pipeline[both].parallelism = 1;
  p.pipeline[both].count = 16;
  p.pipeline[both].function->facts.random = {"RandomUniform"};
  p.pipeline[both].function->facts.seeded = {"RandomUniform"};
  p.pipeline[both].function->facts.control_flow = {"If"};
  p.finish(both);
  return p;
}

TEST_CASE("a map that the plan takes out of its batch is judged under both names") {
  const SmallPipeline p = fused();
  const Edit unfuse = edit_of(EditKind::kUnfuse, "MapAndBatchDataset/_1");
  CHECK(verdict_of(p, {unfuse}) == "fine");
  for (const char* name : {"MapAndBatchDataset/_1", "plumber/map/MapAndBatchDataset/_1"}) {
    CHECK(verdict_of(p, {unfuse, edit_of(EditKind::kSetParallelism, name, "", kFour)})
              .find("random values have a seed") != std::string::npos);
    const Edit move = edit_of(EditKind::kMoveIntoFunction, name, "TFRecordDataset/_0");
    CHECK(verdict_of(p, {unfuse, move}).find("draws by chance") != std::string::npos);
  }
  const Edit swap =
      edit_of(EditKind::kReorder, "MapAndBatchDataset/_1", "plumber/map/MapAndBatchDataset/_1");
  CHECK(verdict_of(p, {unfuse, swap}).find("draws by chance") != std::string::npos);
}

TEST_CASE("a map and batch below a node that ignores errors stays one op") {
  SmallPipeline p = fused();
  p.finish(p.add("IgnoreErrorsDataset", {p.pipeline.root}, {}));
  CHECK(verdict_of(p, {edit_of(EditKind::kUnfuse, "MapAndBatchDataset/_1")})
            .find("IgnoreErrorsDataset/_2 drops elements whose function fails") !=
        std::string::npos);
  const Edit apart =
      edit_of(EditKind::kSetOptions, "", "experimental_optimization.map_and_batch_fusion", false);
  CHECK(verdict_of(p, {apart}).find("drops elements") != std::string::npos);
  CHECK(verdict_of(fused(), {apart}) == "fine");
}

}  // namespace
}  // namespace plumber
