// SPDX-License-Identifier: Apache-2.0
// A map and its batch, of which TensorFlow makes one op: whether the plan parts them.
#include "optimize/fused_pairs.h"

#include <algorithm>

#include "base/error.h"
#include "catch2_any.h"
#include "optimize/plan_check.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

SmallPipeline tiny_calls(bool errors_are_ignored) {
  SmallPipeline p;
  const NodeId range = p.source("RangeDataset", {.work_ms = 0.02, .elements = 256});
  const NodeId map =
      p.map(range, "_scale", {.work_ms = 0.3, .calls = 256, .elements = 256, .bytes = 8});
  p.may_cache(map);
  NodeId root = p.batch(map, 256, {.work_ms = 0.1, .bytes = 2048});
  if (errors_are_ignored) root = p.add("IgnoreErrorsDataset", {root}, {});
  p.finish(root);
  return p;
}

bool plans(const OptimizeResult& result, EditKind kind) {
  return std::ranges::any_of(result.plan.edits, [&](const Edit& edit) {
    return edit.kind == kind && edit.node == "MapDataset/_1";
  });
}

TEST_CASE("calls too short to hand over run inline, and TensorFlow fuses the map no more") {
  const SmallPipeline p = tiny_calls(false);
  OptimizeOptions options = within(2, 8e9);
  options.allow_cache = false;
  CHECK(plans(optimize(p.pipeline, p.analysis, options), EditKind::kInline));
}

TEST_CASE("where errors are ignored the pair stays what TensorFlow makes of it") {
  const SmallPipeline p = tiny_calls(true);
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(2, 8e9));
  for (const EditKind kind : {EditKind::kInline, EditKind::kParallelInline,
                              EditKind::kInsertPrefetch, EditKind::kInsertCache})
    CHECK_FALSE(plans(result, kind));
  CHECK(std::ranges::count(result.rejected,
                           Rejected{"inline", "MapDataset/_1",
                                    "IgnoreErrorsDataset/_3 drops elements whose function fails: "
                                    "others would be counted"}) == 1);
}

TEST_CASE("calls that wait stay in the pool where errors are ignored") {
  for (const bool ignores : {false, true}) {
    SmallPipeline p = tiny_calls(ignores);
    const NodeId map{1};
    p.pipeline[map].function->facts.file_reads = {"ReadFile"};
    p.analysis.costs.nodes[map].work_s = 256 * 0.02;
    p.pipeline.recorder.emplace().tensorflow_version = "2.21.0";
    OptimizeOptions options = within(2, 8e9);
    options.allow_cache = false;
    CHECK(plans(optimize(p.pipeline, p.analysis, options), EditKind::kParallelUnbounded) !=
          ignores);
    const Problem problem = make_problem(p.pipeline, p.analysis, options, {2});
    CHECK(why_pair_stays(problem, map).empty() != ignores);
    const auto refused = [&](EditKind kind) {
      Edit edit{"E1", kind, "MapDataset/_1", "", std::int64_t{4}, "", {}, ""};
      try {
        check_plan(p.pipeline, p.analysis, {"", {edit}, {}, {}}, "plan.json");
      } catch (const Error&) {
        return true;
      }
      return false;
    };
    CHECK(refused(EditKind::kParallelUnbounded) == ignores);
    CHECK_FALSE(refused(EditKind::kSetParallelism));  // the pair stays
  }
}

TEST_CASE("no prefetch goes from between a map and its batch where errors are ignored") {
  SmallPipeline p;
  const NodeId range = p.source("RangeDataset", {.work_ms = 0.02, .elements = 256});
  const NodeId map =
      p.map(range, "_scale", {.work_ms = 0.3, .calls = 256, .elements = 256, .bytes = 8});
  const NodeId apart = p.prefetch(map, 2, {.elements = 256, .bytes = 8});
  const NodeId batch = p.batch(apart, 256, {.work_ms = 0.1, .bytes = 2048});
  p.finish(p.prefetch(batch, 2));
  OptimizeOptions options = within(2, 8e9);
  options.allow_cache = false;
  const auto removes = [&] {
    const OptimizeResult result = optimize(p.pipeline, p.analysis, options);
    return std::ranges::any_of(result.plan.edits, [](const Edit& edit) {
      return edit.kind == EditKind::kRemove && edit.node == "PrefetchDataset/_2";
    });
  };
  CHECK(removes());
  p.finish(p.add("IgnoreErrorsDataset", {p.pipeline.root}, {}));
  CHECK_FALSE(removes());
}

}  // namespace
}  // namespace plumber
