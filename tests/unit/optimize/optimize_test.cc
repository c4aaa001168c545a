// SPDX-License-Identifier: Apache-2.0
// Plans as stories: a small pipeline, its limits, and all that the optimiser says of it.
#include "optimize/optimize.h"

#include <cmath>

#include "catch2_any.h"
#include "plan_story.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

TEST_CASE("the map that does the work gets the cores, nothing else changes") {
  const SmallPipeline p = training();
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 8e9));
  CHECK(result.status == PlanStatus::kOptimal);
  CHECK(story(result) ==
        "E1 set_parallelism ParallelMapDatasetV2/_1 - 5 | .map(_parse, num_parallel_calls=5)\n");
  CHECK(result.predicted.speedup > 1.4);
  CHECK(result.predicted.after_per_s > result.predicted.before_per_s);
  CHECK(result.plan.edits[0].gain_per_s ==
        Approx(result.predicted.after_per_s - result.predicted.before_per_s));
  CHECK(reasons(result) ==
        "insert_cache BatchDatasetV2/_2: not in this test\n"
        "insert_cache ParallelMapDatasetV2/_1: not in this test\n"
        "insert_cache TFRecordDataset/_0: not in this test\n"
        "convert BatchDatasetV2/_2: it is not the bottleneck: 1 ms of work in a period of 10.3 ms\n"
        "reorder BatchDatasetV2/_2: ParallelMapDatasetV2/_1 below it: its function calls "
        "RandomUniform, which draws by chance\n"
        "remove PrefetchDataset/_3: 96.8/s and 30.3 MiB with it, 96.8/s and 12 MiB without: too "
        "little\n");
  CHECK(result.lp.binding == std::vector<std::string>{"cores"});
}

TEST_CASE("what did not run, because a cache was full before the trace began, stays as it is") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {});
  const NodeId decode = p.map(files, "_decode", {.calls = 1});
  const NodeId cache = p.add("CacheDatasetV2", {decode}, {});
  const NodeId augment = p.random(p.map(cache, "_augment", {.work_ms = 16, .calls = 16}));
  p.finish(p.batch(augment, 16));
  for (const NodeId id : {files, decode}) p.analysis.nodes[id].below_cache = true;
  p.analysis.setting[cache].cached = true;
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(4, 1e9));
  CHECK(story(result) ==
        "E1 convert MapDataset/_3 ParallelMapDatasetV2 11 | .map(_augment, num_parallel_calls=11)\n"
        "E2 insert_prefetch BatchDatasetV2/_4 - 2 | .prefetch(2)  # at the end\n"
        "E3 set_options - threading.private_threadpool_size 4 | "
        "options.threading.private_threadpool_size = 4\n"
        "E4 rehome_cache CacheDatasetV2/_2 - - | \n");
  CHECK(!result.predicted.first_epoch_per_s);
  CHECK(result.warnings ==
        std::vector<std::string>{
            "a cache was full before the trace began: the first epoch, which fills it, is unknown, "
            "and nothing below the cache is changed"});
}

TEST_CASE("an exact part of the program is cached where that saves most") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 1, .elements = 16, .bytes = 1e5});
  const NodeId map =
      p.map(files, "_decode", {.work_ms = 16, .calls = 16, .elements = 16, .bytes = 6e5});
  const NodeId batch = p.batch(map, 16, {.work_ms = 1, .bytes = 9.6e6, .per_epoch = 62});
  for (const NodeId id : {files, map, batch}) p.may_cache(id);
  p.finish(p.add("RepeatDataset", {batch}, {.bytes = 9.6e6}));
  p.pipeline.machine.cores = 2;

  SECTION("all of it") {
    const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 1e9));
    CHECK(story(result) ==
          "E1 convert MapDataset/_1 ParallelMapDatasetV2 5 | .map(_decode, num_parallel_calls=5)\n"
          "E2 insert_cache BatchDatasetV2/_2 - - | .cache()  # after .batch(16)\n"
          "E3 insert_prefetch RepeatDataset/_3 - 2 | .prefetch(2)  # at the end\n"
          "E4 set_options - autotune.enabled false | options.autotune.enabled = False\n");
    CHECK(result.predicted.first_epoch_per_s < result.predicted.after_per_s);
    REQUIRE(result.predicted.cache_pays_after_epochs);
    CHECK(*result.predicted.cache_pays_after_epochs == 1);
    CHECK(result.memory.planned_bytes <= result.memory.budget_bytes);
  }
  SECTION("what fits, and what more memory would bring") {
    const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 3e8));
    REQUIRE(result.plan.edits.size() >= 2);
    CHECK(result.plan.edits[0].node == "TFRecordDataset/_0");
    CHECK(result.plan.edits[0].kind == EditKind::kInsertCache);
    REQUIRE(result.more.next_memory);
    CHECK(result.more.next_memory->bytes == Approx(3.5e8).epsilon(0.1));
    CHECK(result.more.next_memory->gain_per_s > 0);
    const std::string text = reasons(result);
    CHECK(text.find("insert_cache BatchDatasetV2/_2: it would hold 568 MiB, and ") !=
          std::string::npos);
  }
  SECTION("nothing with --no-cache") {
    OptimizeOptions options = within(2, 1e9);
    options.allow_cache = false;
    CHECK(optimize(p.pipeline, p.analysis, options).status == PlanStatus::kNoChange);
  }
  SECTION("nothing in a single epoch") {
    OptimizeOptions options = within(2, 1e9);
    options.epochs = 1;
    const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
    CHECK(result.status == PlanStatus::kNoChange);
    CHECK(reasons(result).find("it does not pay back within 1 epoch") != std::string::npos);
  }
  SECTION("a narrower order only with a reason, and never under --strict-order") {
    p.analysis.nodes[batch].cache.cache_class = CacheClass::kOrder;
    p.analysis.nodes[batch].cache.reason = "the order of the first epoch stays";
    const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 1e9));
    CHECK(result.plan.edits[1].reason.find("the order of the first epoch stays") !=
          std::string::npos);
    OptimizeOptions strict = within(2, 1e9);
    strict.strict_order = true;
    CHECK(optimize(p.pipeline, p.analysis, strict).plan.edits[1].node == "MapDataset/_1");
  }
  SECTION("what the rule forbids, with the permission that it names") {
    for (const NodeId id : {files, map, batch}) {
      p.analysis.nodes[id].cache = {CacheClass::kContent, false, "it calls Python", "pyfunc-cache",
                                    true};
    }
    OptimizeOptions options = within(2, 1e9);
    CHECK(optimize(p.pipeline, p.analysis, options).status == PlanStatus::kNoChange);
    options.permissions = {Permission::kPyfuncCache};
    const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
    CHECK(result.status == PlanStatus::kOptimal);
    CHECK(result.permissions == std::vector<std::string>{"pyfunc-cache"});
  }
}

TEST_CASE("a Python function holds one lock: it is not parallelised") {
  SmallPipeline p = training();
  p.analysis.costs.nodes[NodeId{1}].python = true;
  p.pipeline[NodeId{1}].function->facts.python = {"PyFunc"};
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 8e9));
  CHECK(story(result) ==
        "E1 insert_prefetch TFRecordDataset/_0 - 2 | "
        ".prefetch(2)  # after tf.data.TFRecordDataset(...)\n");
  CHECK(reasons(result).find("set_parallelism ParallelMapDatasetV2/_1: its function is Python") !=
        std::string::npos);
}

TEST_CASE("a sequential map with state is parallelised with permission only") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 1});
  const NodeId map = p.map(files, "_count", {.work_ms = 50, .calls = 16, .elements = 16});
  p.pipeline[map].function->facts.stateful = {"AssignAddVariableOp"};
  p.finish(p.batch(map, 16));
  p.pipeline.machine.cores = 4;
  OptimizeOptions options = within(4, 8e9);
  CHECK(reasons(optimize(p.pipeline, p.analysis, options))
            .find("keeps state (AssignAddVariableOp)") != std::string::npos);
  options.permissions = {Permission::kStatefulParallel};
  const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
  REQUIRE(result.status == PlanStatus::kOptimal);
  CHECK(result.plan.edits[0].kind == EditKind::kConvert);
}

TEST_CASE("a program over its budget: buffers shrink, nothing is added") {
  SmallPipeline p = training();
  p.pipeline[NodeId{3}].buffer_size = 10;
  p.analysis.nodes[NodeId{3}].bytes_per_element = 9.6e6;
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 4e7));
  CHECK(story(result) == "E1 set_buffer PrefetchDataset/_3 - 2 | .prefetch(2)\n");
  REQUIRE(result.warnings.size() == 1);
  CHECK(result.warnings[0].find("buffers shrink, nothing is added") != std::string::npos);
  CHECK(result.memory.planned_bytes <= 4e7);
}

TEST_CASE("what does not fit with its buffers at their least is not possible") {
  SmallPipeline p = training();
  const NodeId shuffle = p.add("ShuffleDatasetV3", {NodeId{3}}, {.bytes = 1000});
  p.pipeline[shuffle].buffer_size = 100;
  p.analysis.nodes[shuffle].bytes_per_element = 1e6;
  p.finish(shuffle);
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 4e7));
  CHECK(result.status == PlanStatus::kInfeasible);
  CHECK(result.plan.edits.empty());
  CHECK(result.memory.planned_bytes > 1e8);
  REQUIRE(result.warnings.size() == 1);
  CHECK(result.warnings[0].find("shuffle buffers stay") != std::string::npos);
  REQUIRE(result.more.next_memory);
  CHECK(result.more.next_memory->bytes >= result.memory.planned_bytes - 4e7);
}

TEST_CASE("fewer cores than the trace's: TensorFlow's pool is bounded too") {
  SmallPipeline p = training();
  p.pipeline.machine.cores = 16;
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 8e9));
  CHECK(story(result) ==
        "E1 set_parallelism ParallelMapDatasetV2/_1 - 5 | .map(_parse, num_parallel_calls=5)\n"
        "E2 set_options - threading.private_threadpool_size 2 | "
        "options.threading.private_threadpool_size = 2\n");
}

TEST_CASE("what the tracer set is taken out, which changes nothing by itself") {
  SmallPipeline p = training();
  p.pipeline[NodeId{1}].parallelism = 2;
  p.pipeline.recorder_options = {"autotune.enabled"};
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 8e9));
  CHECK(result.status == PlanStatus::kNoChange);
  CHECK(story(result) == "E1 set_options - autotune.enabled - | \n");
  CHECK(result.plan.edits[0].reason == "set by the tracer, not by you");
  CHECK(result.predicted.after_per_s == result.predicted.before_per_s);
}

TEST_CASE("a target rate takes the fewest cores, then the least memory") {
  SmallPipeline p = training();
  p.pipeline.machine.cores = 16;
  OptimizeOptions options = within(16, 8e9);
  options.target_rate_per_s = 150;
  const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
  CHECK(result.status == PlanStatus::kOptimal);
  CHECK(result.limits.cores == 4);
  CHECK(result.predicted.after_per_s >= 150);
  options.target_rate_per_s = 1e6;
  const OptimizeResult infeasible = optimize(p.pipeline, p.analysis, options);
  CHECK(infeasible.status == PlanStatus::kInfeasible);
  CHECK(infeasible.plan.edits.empty());
  REQUIRE_FALSE(infeasible.warnings.empty());
  CHECK(infeasible.warnings.back().find("out of reach") != std::string::npos);
}

TEST_CASE("a target that stock TensorFlow reaches: no change") {
  SmallPipeline p = training();
  p.pipeline.machine.cores = 16;
  OptimizeOptions options = within(16, 8e9);
  options.target_rate_per_s = 1;
  const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
  CHECK(result.status == PlanStatus::kNoChange);
  CHECK(result.limits.cores == 1);
  CHECK(result.more.unchanged_cores == 1);
  CHECK(result.predicted.speedup == 1);
}

TEST_CASE("the paper's model: ceil(theta) calls and a prefetch of ceil(N* - N)") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 10});
  const NodeId map = p.parallel_map(files, "_parse", 2, {.work_ms = 400});
  const NodeId batch = p.batch(map, 16, {.work_ms = 20});
  p.finish(batch);
  p.analysis.nodes[map].parallelism = 2;
  p.analysis.rate.observed_per_s = 4;
  p.analysis.elapsed_s = 100;  // 400 root elements, 1.2 of them in progress on average
  for (const NodeId id : {files, map, batch}) {
    p.analysis.nodes[id].elements = 400;
    p.analysis.nodes[id].service_s = 0.1;
  }
  OptimizeOptions options = within(8, 8e9);
  options.model = ModelKind::kPaper;
  const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
  CHECK(result.lp.objective_per_s == Approx(8 / 0.43));
  // N* = 0.43 s * 5/s = 2.15, N = 120 s / 100 s.
  CHECK(story(result) ==
        "E1 set_parallelism ParallelMapDatasetV2/_1 - 8 | .map(_parse, num_parallel_calls=8)\n"
        "E2 insert_prefetch BatchDatasetV2/_2 - 1 | .prefetch(1)  # at the end\n");
  CHECK(result.predicted.upper_bound);
  CHECK(result.more.core_gain_per_s == Approx(1 / 0.43));
}

TEST_CASE("a rate is a number only where the model was tested") {
  SmallPipeline p = training();
  const auto promised = [&] { return optimize(p.pipeline, p.analysis, within(2, 8e9)).predicted; };
  const Predicted usual = promised();
  CHECK_FALSE(usual.upper_bound);
  CHECK(usual.range_per_s.first == Approx(0.75 * usual.after_per_s));
  CHECK(usual.why == "times of the trace, hand-offs as on a machine that was measured before");
  p.pipeline[NodeId{1}].function->facts.sharding = {"Transpose"};
  const Predicted sharding = promised();
  CHECK(sharding.upper_bound);
  CHECK(sharding.range_per_s.second == sharding.after_per_s);
  CHECK(sharding.why == "Transpose in ParallelMapDatasetV2/_1 takes threads of its own");
}

TEST_CASE("short passes out of a cache: starting them takes longer, handing on less; no bound") {
  SmallPipeline p;
  const NodeId source =
      p.source("RangeDataset", {.work_ms = 0.05, .elements = 128, .per_epoch = 3});
  const NodeId map =
      p.map(source, "_work", {.work_ms = 40, .calls = 128, .elements = 128, .per_epoch = 3});
  p.may_cache(map);
  const NodeId repeat = p.add("RepeatDataset", {map}, {.work_ms = 0.05, .elements = 128});
  p.finish(p.batch(repeat, 128, {.work_ms = 0.01}));
  const Predicted predicted = optimize(p.pipeline, p.analysis, within(2, 8e9)).predicted;
  INFO(predicted.why);
  CHECK_FALSE(predicted.upper_bound);
  CHECK_FALSE(predicted.lower_bound);
  CHECK(predicted.range_per_s.second == Approx(2.5 * predicted.after_per_s));
  CHECK(predicted.why.find("less than one element starts anew") != std::string::npos);
  CHECK(predicted.why.find("out of a cache") != std::string::npos);
}

TEST_CASE("without counters nothing is planned") {
  SmallPipeline p = training();
  for (NodeCost& cost : p.analysis.costs.nodes) cost = {};
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 8e9));
  CHECK(result.status == PlanStatus::kNoChange);
  CHECK(result.predicted.why == "the trace has no counters");
  CHECK(result.warnings.size() == 1);
  p = training();
  p.analysis.costs.nodes[NodeId{1}].work_s = std::nan("");
  CHECK(optimize(p.pipeline, p.analysis, within(2, 8e9)).predicted.why ==
        "the costs of ParallelMapDatasetV2/_1 are no numbers");
}

TEST_CASE("permissions by their words") {
  CHECK(permission_of("frozen-order") == Permission::kFrozenOrder);
  CHECK(permission_word(Permission::kStatefulParallel) == "stateful-parallel");
  CHECK_FALSE(permission_of("everything"));
}

}  // namespace
}  // namespace plumber
