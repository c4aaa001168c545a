// SPDX-License-Identifier: Apache-2.0
// Functions of little work: on whose thread they run.
#include "catch2_any.h"
#include "optimize/choices.h"
#include "optimize/optimize.h"
#include "plan_story.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

NodeId filter(SmallPipeline& p, NodeId input) {
  const NodeId keep =
      p.add("FilterDataset", {input}, {.work_ms = 0.1, .calls = 128, .elements = 64});
  p.with_function(keep, "_keep");
  p.pipeline[keep].function->facts = {};
  return keep;
}

/// Reading, two small functions and a filter between them, a batch.
SmallPipeline small_functions() {
  SmallPipeline p;
  const NodeId lines = p.source("TextLineDataset", {.work_ms = 0.2, .elements = 128});
  const NodeId parse =
      p.parallel_map(lines, "_parse", 2, {.work_ms = 0.4, .calls = 128, .elements = 128});
  const NodeId keep = filter(p, parse);
  const NodeId scale = p.map(keep, "_scale", {.work_ms = 0.2, .calls = 64, .elements = 64});
  p.finish(p.batch(scale, 64, {.work_ms = 0.05, .bytes = 1e4}));
  p.pipeline.machine.cores = 2;
  return p;
}

TEST_CASE("functions with less work than a hand-off run on their caller's thread") {
  const SmallPipeline p = small_functions();
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 8e9));
  CHECK(story(result) ==
        "E1 inline ParallelMapDatasetV2/_1 - - | \n"
        "E2 pass_through_filter FilterDataset/_2 - - | \n"
        "E3 inline MapDataset/_3 - - | \n"
        "E4 insert_prefetch BatchDatasetV2/_4 - 2 | .prefetch(2)  # at the end\n"
        "E5 set_options - experimental_optimization.map_and_batch_fusion false | "
        "options.experimental_optimization.map_and_batch_fusion = False\n");
  CHECK(result.plan.edits[0].reason ==
        "3.13 us of work a call against 62.5 us to hand it to another thread");
}

TEST_CASE("an inline predicate ends with a map, which TensorFlow would fuse with the batch above") {
  SmallPipeline p;
  const NodeId lines = p.source("TextLineDataset", {.work_ms = 0.2, .elements = 128});
  p.finish(p.batch(filter(p, lines), 64, {.work_ms = 0.05, .bytes = 1e4}));
  p.pipeline.machine.cores = 2;
  CHECK(story(optimize(p.pipeline, p.analysis, within(2, 8e9))) ==
        "E1 pass_through_filter FilterDataset/_1 - - | \n"
        "E2 insert_prefetch BatchDatasetV2/_2 - 64 | .prefetch(64)  # at the end\n"
        "E3 set_options - experimental_optimization.map_and_batch_fusion false | "
        "options.experimental_optimization.map_and_batch_fusion = False\n");
}

TEST_CASE("short calls leave their threads where the plan is as fast without them") {
  SmallPipeline p;
  const NodeId range = p.source("RangeDataset", {.work_ms = 0.02, .elements = 64});
  const NodeId scale = p.parallel_map(range, "_scale", 2, {.work_ms = 0.002, .calls = 1});
  const NodeId rows = p.add("UniqueDataset", {scale}, {.work_ms = 0.3, .elements = 128});
  p.finish(p.batch(filter(p, rows), 64, {.work_ms = 0.1, .bytes = 1e4}));
  p.pipeline.machine.cores = 2;
  CHECK(story(optimize(p.pipeline, p.analysis, within(2, 8e9))) ==
        "E1 inline ParallelMapDatasetV2/_1 - - | \n"
        "E2 pass_through_filter FilterDataset/_3 - - | \n"
        "E3 insert_prefetch BatchDatasetV2/_4 - 2 | .prefetch(2)  # at the end\n"
        "E4 set_options - experimental_optimization.map_and_batch_fusion false | "
        "options.experimental_optimization.map_and_batch_fusion = False\n");
}

TEST_CASE("control flow and kernels that share their work keep a function off that thread") {
  SmallPipeline p = small_functions();
  p.pipeline[NodeId{1}].function->facts.control_flow = {"StatelessIf"};
  p.pipeline[NodeId{3}].function->facts.sharding = {"Transpose"};
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 8e9));
  for (const Edit& edit : result.plan.edits) CHECK(edit.kind != EditKind::kInline);
  CHECK(reasons(result).find("inline ParallelMapDatasetV2/_1: its function reaches control flow "
                             "(StatelessIf), which TensorFlow does not run inline\n") !=
        std::string::npos);
  CHECK(reasons(result).find("inline MapDataset/_3: Transpose shares its work with other threads "
                             "and would wait for them on this one; --allow intra-op\n") !=
        std::string::npos);
}

TEST_CASE("kernels that share their work run inline where the environment may forbid it") {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 0.5, .elements = 64});
  const NodeId map = p.random(p.map(files, "_turn", {.work_ms = 1, .calls = 64, .elements = 64}));
  p.pipeline[map].function->facts.sharding = {"Transpose"};
  p.finish(p.batch(map, 64, {.work_ms = 0.1}));
  OptimizeOptions options = within(1, 8e9);
  CHECK(optimize(p.pipeline, p.analysis, options).plan.environment.empty());
  options.permissions = {Permission::kIntraOp};
  const OptimizeResult allowed = optimize(p.pipeline, p.analysis, options);
  CHECK(std::ranges::count(allowed.plan.edits, EditKind::kInline, &Edit::kind) == 1);
  CHECK(allowed.plan.environment ==
        std::map<std::string, std::string>{{"TF_NUM_INTRAOP_THREADS", "1"}});
}

TEST_CASE("no prefetch parts a shuffle from its repeat: TensorFlow makes one op of them") {
  const auto may_part = [](const std::string& above, std::optional<std::int64_t> count) {
    SmallPipeline p;
    const NodeId lines = p.source("TextLineDataset", {.work_ms = 0.3, .elements = 128});
    const NodeId shuffle = p.add("ShuffleDatasetV3", {lines}, {.work_ms = 0.2, .elements = 128});
    p.pipeline[shuffle].fixed_seed = true;
    const NodeId next = p.add(above, {shuffle}, {.work_ms = 0.1, .elements = 128});
    p.pipeline[next].count = count;
    p.finish(p.batch(next, 128, {.work_ms = 0.1, .bytes = 1e4}));
    const OptimizeOptions options = within(2, 8e9);
    const Problem problem = make_problem(p.pipeline, p.analysis, options, {2});
    return find_choices(problem, 8e9).nodes[shuffle].prefetch;
  };
  CHECK(may_part("SkipDataset", 3));
  CHECK_FALSE(may_part("RepeatDataset", 3));
  CHECK_FALSE(may_part("RepeatDataset", {}));
  CHECK(may_part("RepeatDataset", -1));  // it never ends: the same order either way
}

}  // namespace
}  // namespace plumber
