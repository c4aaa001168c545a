// SPDX-License-Identifier: Apache-2.0
// What a plan says first, and how its changes read, from hand-made values.
#include "report/plan_view.h"

#include <algorithm>

#include "catch2_any.h"
#include "pipeline_builder.h"
#include "report/render.h"

using namespace plumber;

namespace {

Pipeline read_map() {
  PipelineBuilder b;
  b.add("read", "TFRecordDataset").counts(1600, 100, 0.1);
  b.add("map", "MapDataset", {"read"}).counts(1600, 400, 8).function({}, "decode");
  return b.build(Dialect::kModel, 10);
}

OptimizeResult result_of(PlanStatus status) {
  OptimizeResult result;
  result.status = status;
  result.limits.cores = 4;
  result.limits.memory_bytes = 8 * 0x1p30;
  result.predicted.before_per_s = 124;
  result.predicted.after_per_s = 7100;
  result.predicted.speedup = 57.3;
  return result;
}

std::string text_of(const OptimizeResult& result) {
  return render_text(plan_view(read_map(), result), {});
}

Edit edit(EditKind kind, const std::string& to, EditValue value) {
  Edit result;
  result.id = "E1";
  result.kind = kind;
  result.node = "map";
  result.to = to;
  result.value = std::move(value);
  return result;
}

// How one edit reads.
std::string sentence(EditKind kind, const std::string& to = "", EditValue value = {}) {
  OptimizeResult result = result_of(PlanStatus::kOptimal);
  result.plan.edits = {edit(kind, to, std::move(value))};
  const std::string text = text_of(result);
  const std::size_t start = text.find("  1. ") + 5;
  return text.substr(start, text.find('\n', start) - start);
}

bool says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("A plan begins with what to expect of it") {
  OptimizeResult result = result_of(PlanStatus::kOptimal);
  result.plan.edits = {edit(EditKind::kConvert, "ParallelMapDatasetV2", 4),
                       edit(EditKind::kSetOptions, "autotune.enabled", {})};
  result.predicted.range_per_s = {6000, 8000};
  result.predicted.why = "times of the trace";
  CHECK(
      text_of(result) ==
      R"(From 124/s (stock TensorFlow) to 7.1k/s: 57.3 times as fast with 1 change on 4 cores and 8 GiB.
Expect 6k/s to 8k/s: times of the trace.

Changes
  1. Run map (decode) in parallel, 4 calls at once.

Besides, 1 option that the recorder had set is taken out again.
)");
}

TEST_CASE("A bound is said to be one, and what a cache costs first") {
  OptimizeResult result = result_of(PlanStatus::kOptimal);
  result.predicted.upper_bound = true;
  result.predicted.why = "the consumer's time is assumed";
  result.predicted.first_epoch_per_s = 108;
  result.predicted.cache_pays_after_epochs = 2;
  const std::string text = text_of(result);
  CHECK(says(text, "to at most 7.1k/s: up to 57.3 times as fast with 0 changes"));
  CHECK(says(text, "An upper bound: the consumer's time is assumed.\n"));
  CHECK(
      says(text,
           "The first epoch, which fills the cache, runs at 108/s; the cache has paid for itself"));
}

TEST_CASE("A partial cache has a bound of the rest of the epoch, and a mean") {
  OptimizeResult result = result_of(PlanStatus::kOptimal);
  result.predicted.cached_share = 0.25;
  result.predicted.bound = Bound{BoundKind::kConsumer, {}, 5000};
  std::string text = text_of(result);
  std::replace(text.begin(), text.end(), '\n', ' ');
  CHECK(says(text,
             "In the part of an epoch that is not cached, the consumer limits the pipeline to "
             "5k/s; with the 25 % that are, the mean is 7.1k/s."));
}

TEST_CASE("A plan for the first epoch alone promises no more") {
  OptimizeResult result = result_of(PlanStatus::kOptimal);
  result.predicted.after_per_s = 124;
  result.predicted.speedup = 1;
  result.predicted.first_epoch_per_s = 60;
  CHECK(says(text_of(result),
             "As fast as stock TensorFlow (124/s), but for the first epoch, with 0 changes on"));
}

TEST_CASE("No change and no way are answers too") {
  CHECK(text_of(result_of(PlanStatus::kNoChange)) ==
        "No change: stock TensorFlow runs this program at 124/s, and nothing within 4 cores and 8 "
        "GiB is\n"
        "worth a change.\n");
  CHECK(text_of(result_of(PlanStatus::kInfeasible)) ==
        "Not possible: the best plan within 4 cores and 8 GiB reaches 7.1k/s.\n");
  OptimizeResult blind = result_of(PlanStatus::kNoChange);
  blind.predicted.before_per_s = 0;
  blind.predicted.why = "the trace has no counters";
  CHECK(text_of(blind) == "No change: the trace has no counters.\n");
}

TEST_CASE("Every edit is a sentence") {
  CHECK(sentence(EditKind::kSetParallelism, "", 4) == "Run 4 calls of map (decode) at once.");
  CHECK(sentence(EditKind::kConvert, "ParallelMapDatasetV2", 4) ==
        "Run map (decode) in parallel, 4 calls at once.");
  CHECK(sentence(EditKind::kSequential) == "Run map (decode) sequentially.");
  CHECK(sentence(EditKind::kInline) == "Run the function of map (decode) on its caller's thread.");
  CHECK(sentence(EditKind::kParallelInline, "", 4) ==
        "Run 4 calls of map (decode) at once, each on one thread.");
  CHECK(sentence(EditKind::kParallelUnbounded, "", 4) ==
        "Run 4 calls of map (decode) at once, each on a thread of its own.");
  CHECK(sentence(EditKind::kPassThroughFilter) == "Compute the predicate of map (decode) inline.");
  CHECK(sentence(EditKind::kMoveIntoFunction, "read") ==
        "Move map (decode) into the function of read.");
  CHECK(sentence(EditKind::kUnfuse) == "Split map (decode) into a map and a batch.");
  CHECK(sentence(EditKind::kInsertPrefetch, "", 2) == "Add prefetch(2) after map (decode).");
  CHECK(sentence(EditKind::kSetBuffer, "", 64) == "Give map (decode) a buffer of 64 elements.");
  CHECK(sentence(EditKind::kInsertCache) == "Add cache() in memory after map (decode).");
  CHECK(sentence(EditKind::kInsertCache, "/data/c") == "Add cache('/data/c') after map (decode).");
  CHECK(sentence(EditKind::kRehomeCache) == "Give the cache map (decode) a memory of its own.");
  CHECK(sentence(EditKind::kReorder, "read") == "Move map (decode) below read.");
  CHECK(sentence(EditKind::kRemove) == "Remove map (decode).");
  CHECK(sentence(EditKind::kSetOptions, "threading.private_threadpool_size", 4) ==
        "Set tf.data.Options threading.private_threadpool_size to 4.");
}

TEST_CASE("What was left out says why, and what more would bring is said when it is something") {
  OptimizeResult result = result_of(PlanStatus::kNoChange);
  result.rejected = {{"insert_cache", "map", "its function is random"},
                     {"reorder", "read", "nothing to gain"}};
  result.more.next_memory = NextMemory{4.2 * 0x1p30, 12};
  const std::string text = text_of(result);
  CHECK(says(text,
             "  1. a cache after map (decode): its function is random\n"
             "  2. moving read below a map: nothing to gain\n"));
  CHECK(says(text, "What more would bring\n  memory to add   4.2 GiB\n  what it brings  +12/s\n"));
  CHECK_FALSE(says(text, "one more core"));
}
