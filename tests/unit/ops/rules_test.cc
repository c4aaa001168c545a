// SPDX-License-Identifier: Apache-2.0
// Each rule of the table finds its example, and nothing in a sound program; how grave a finding is
// follows from what moves the bounds.
#include "ops/rules.h"

#include <functional>
#include <map>

#include "catch2_any.h"
#include "counted_analysis.h"
#include "function_facts_of.h"
#include "ops/findings.h"
#include "pipeline_builder.h"

using namespace plumber;

namespace {

constexpr double kMib = 1 << 20;

struct Example {
  Pipeline pipeline;
  std::function<void(Analysis&)> also = [](Analysis&) {};  // what the counters do not tell
};

// One map on a range below `op`, or above it.
Pipeline above_map(const char* op, FunctionFacts facts = {}, std::int64_t count = 0) {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(1000, 8);
  b.add("map", "MapDataset", {"range"}).function(std::move(facts), "_f").counts(1000, 8, 1);
  b.add("node", op, {"map"}).count(count).counts(1000, 8);
  b.add("ahead", "PrefetchDataset", {"node"}).buffer(2).counts(1000, 8);
  return b.build();
}

Pipeline files(const char* reader, std::int64_t count, std::int64_t cycle) {
  PipelineBuilder b;
  b.add("names", "TensorSliceDataset").source(count).counts(static_cast<double>(count), 20);
  b.add("read>file", "TFRecordDataset").counts(4000, 1000, 0.5);
  b.add("read", reader, {"names"}).holds("read>file").cycle(cycle).counts(4000, 1000, 0.1);
  b.add("ahead", "PrefetchDataset", {"read"}).buffer(2).counts(4000, 1000);
  return b.build();
}

Example frozen() { return {above_map("CacheDatasetV2", random_facts())}; }

Example order_frozen() {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(8);
  b.add("mix", "ShuffleDatasetV3", {"range"}).buffer(8);
  b.add("cache", "CacheDatasetV2", {"mix"});
  return {b.build()};
}

Example discarded() {
  PipelineBuilder b;  // cache().take().repeat()
  b.add("range", "RangeDataset").source(80).counts(800, 8);
  b.add("map", "MapDataset", {"range"}).function({}, "_f").counts(800, 8, 1);
  b.add("cache", "CacheDatasetV2", {"map"}).counts(800, 8);
  b.add("take", "TakeDataset", {"cache"}).count(40).counts(400, 8, 0.01);
  b.add("epochs", "RepeatDataset", {"take"}).count(-1).counts(400, 8);
  return {b.build(), [](Analysis& a) { a.setting[NodeId{2}].cached = false; }};
}

Example names() {
  PipelineBuilder b;
  b.add("files", "TensorSliceDataset").source(4).counts(4, 30);
  b.add("names", "CacheDatasetV2", {"files"}).counts(4, 30);
  b.add("read>file", "TFRecordDataset").counts(400, 100, 1);
  b.add("read", "InterleaveDataset", {"names"}).holds("read>file").counts(400, 100, 0.1);
  const Pipeline p = b.build();
  return {p, [](Analysis& a) {
            a.nodes[NodeId{3}].elements_per_epoch = {Cardinality::Kind::kKnown, 400};
            a.nodes[NodeId{3}].materialized_bytes = 40'000;
          }};
}

Example producers_gone() {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(8);
  b.add("cache", "CacheDatasetV2", {"range"}).counts(500);
  return {b.build()};
}

Example grown_files() {
  PipelineBuilder b;
  b.add("names", "TensorSliceDataset").files({"a"}).counts(1, 20);
  b.add("read>file", "TFRecordDataset").counts(1000, 1024);
  b.add("read", "FlatMapDataset", {"names"}).holds("read>file").counts(1000, 1024);
  b.add("decode", "MapDataset", {"read"}).function({}, "_decode").counts(1000, 200 * 1024);
  b.add("cache", "CacheDatasetV2", {"decode"}).counts(1000, 200 * 1024);
  b.add("ahead", "PrefetchDataset", {"cache"}).buffer(2).counts(1000, 200 * 1024);
  Pipeline p = b.build();
  p[b.id("cache")].cache_file = "cache";
  p.file_bytes["a"] = 1000 * 1016;
  return {p};
}

Pipeline large_shuffle(std::int64_t buffer) {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(4000).counts(4000, 1024);
  b.add("decode", "MapDataset", {"range"}).function({}, "_decode").counts(4000, kMib);
  b.add("mix", "ShuffleDatasetV3", {"decode"}).buffer(buffer).counts(4000, kMib);
  return b.build();
}

Example large_prefetch() {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(1000, 10 * kMib);
  b.add("ahead", "PrefetchDataset", {"range"}).buffer(500).counts(1000, 10 * kMib);
  return {b.build()};
}

Example constants() {
  Pipeline p = above_map("MapDataset");
  p.large_constants = {{"range", 1500 * kMib}};
  return {p};
}

Example batches(const char* upper) {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(16000).counts(16000, 8, 0.1);
  b.add("small", "BatchDatasetV2", {"range"}).count(2).counts(8000, 16, 0.4);
  b.add("upper", upper, {"small"}).count(8).counts(1000, 128, 0.4);
  b.add("ahead", "PrefetchDataset", {"upper"}).buffer(2).counts(1000, 8);
  return {b.build()};
}

Example group_over_repeat() {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(40).counts(400, 8);
  b.add("repeat", "RepeatDataset", {"range"}).count(-1).counts(400, 8);
  b.add("group", "GroupByWindowDataset", {"repeat"}).counts(40, 80);
  return {b.build()};
}

Pipeline parallel_map(std::int64_t calls, FunctionFacts facts = {}) {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(100, 8);
  b.add("map", "ParallelMapDatasetV2", {"range"})
      .parallelism(calls)
      .function(std::move(facts), "_f")
      .counts(100, 8, 1);
  b.add("ahead", "PrefetchDataset", {"map"}).buffer(2).counts(100, 8);
  return b.build();
}

Example kept_order() {
  return {parallel_map(4), [](Analysis& a) {
            a.rate.observed_per_s = 100;  // of 400 that four calls can do
            a.elapsed_s = 1, a.root_elements = 100;
            a.verdict = Verdict::kInputBound;
          }};
}

Example nested_reads() {
  PipelineBuilder b;
  b.add("names", "TensorSliceDataset").source(4).counts(4, 20);
  b.add("read>list", "TensorSliceDataset").counts(4, 20);
  b.add("read>files", "ParallelInterleaveDatasetV4", {"read>list"}).cycle(2).counts(400, 100);
  b.add("read", "ParallelInterleaveDatasetV4", {"names"})
      .holds("read>files")
      .cycle(4)
      .counts(400, 100);
  return {b.build()};
}

Example page_cache(double memory) {
  Pipeline p = files("InterleaveDataset", 8, 2);
  p.machine.memory_total_bytes = memory;
  return {p, [](Analysis& a) { a.nodes[NodeId{1}].materialized_bytes = 100 * 0x1p30; }};
}

Example legacy() { return {above_map("BatchDataset", {}, 1)}; }

Example short_epochs() {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(5).counts(50, 8);
  b.epochs(10, 50);
  return {b.build(), [](Analysis& a) { a.rate.epoch_start_s = 0.05; }};
}

Example sequential() { return {above_map("TakeDataset", {}, 1000)}; }

Example overhead() {
  PipelineBuilder b;  // 128 calls of 1 us for each batch
  b.add("range", "RangeDataset").source(100000).counts(12800);
  b.add("tiny", "MapDataset", {"range"}).function({}, "_tiny").counts(12800, 8, 12800 * 1e-6);
  b.add("batch", "BatchDatasetV2", {"tiny"}).count(128).counts(100, 1024);
  return {b.build()};
}

Example waiting_reader() {
  Pipeline p = files("InterleaveDataset", 64, 1);
  p.dialect = Dialect::kOpstats;
  return {p, [](Analysis& a) {
            a.nodes[NodeId{1}].service_s = 1e-3;
            a.nodes[NodeId{1}].cpu_s_per_element = 1e-5;
          }};
}

FunctionFacts reading_facts() {
  FunctionFacts facts;
  facts.file_reads = {"ReadFile"};
  return facts;
}

Example waiting_calls() {
  Pipeline p = parallel_map(2, reading_facts());
  p.recorder.emplace().tensorflow_version = "2.21.0";
  return {p, [](Analysis& a) {
            for (NodeCost& cost : a.costs.nodes) cost.cpu_s = std::min(cost.cpu_s, 1e-5);
          }};
}

Example no_prefetch() {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(100, 8, 0);
  b.add("batch", "BatchDatasetV2", {"range"}).count(1).counts(100, 8, 1.0);
  return {b.build(), [](Analysis& a) { a.costs.think_time_s = 10e-3; }};
}

Example late_choice() {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(4000).counts(4000, 8);
  b.add("decode", "MapDataset", {"range"}).function({}, "decode").counts(4000, 8, 0.8);
  b.add("shard", "ShardDataset", {"decode"}).count(4).counts(1000, 8);
  return {b.build()};
}

const std::map<std::string, std::function<Example()>>& examples() {
  static const std::map<std::string, std::function<Example()>> table{
      {"augmentation-frozen", frozen},
      {"order-frozen", order_frozen},
      {"cache-discarded", discarded},
      {"cache-of-names", names},
      {"cache-producers-gone", producers_gone},
      {"cache-larger-than-files", grown_files},
      {"shuffle-whole-epoch", [] { return Example{large_shuffle(5000)}; }},
      {"shuffle-after-growth", [] { return Example{large_shuffle(2000)}; }},
      {"prefetch-large", large_prefetch},
      {"large-constants", constants},
      {"batch-of-batch", [] { return batches("BatchDatasetV2"); }},
      {"unbatch-of-batch", [] { return batches("UnbatchDataset"); }},
      {"late-choice", late_choice},
      {"group-over-repeat", group_over_repeat},
      {"order-kept", kept_order},
      {"one-file", [] { return Example{files("ParallelInterleaveDatasetV4", 1, 8)}; }},
      {"nested-parallel-reads", nested_reads},
      {"page-cache", [] { return page_cache(500 * 0x1p30); }},
      {"many-calls", [] { return Example{parallel_map(60)}; }},
      {"legacy-op", legacy},
      {"short-epochs", short_epochs},
      {"sequential-op", sequential},
      {"waiting-calls", waiting_calls},
      {"few-calls", [] { return Example{parallel_map(1)}; }},
      {"cores-busy", [] { return Example{parallel_map(8)}; }},
      {"python-lock", [] { return Example{parallel_map(4, python_facts())}; }},
      {"per-element-overhead", overhead},
      {"latency-bound-source", waiting_reader},
      {"prefetch-missing", no_prefetch},
  };
  return table;
}

std::vector<Finding> found_in(const Example& example, const std::string& id) {
  Analysis a = analysis_of(example.pipeline);
  example.also(a);
  std::vector<Finding> found = findings(example.pipeline, a);
  std::erase_if(found, [&](const Finding& f) { return f.id != id; });
  return found;
}

}  // namespace

TEST_CASE("every rule has an example, and finds it") {
  std::vector<std::string> ids;
  for (const Rule& rule : rules()) {
    CAPTURE(rule.id);
    ids.emplace_back(rule.id);
    REQUIRE(examples().contains(rule.id));
    const auto found = found_in(examples().at(rule.id)(), rule.id);
    REQUIRE(found.size() == 1);
    CHECK(found[0].severity == rule.gravest);
    CHECK_FALSE(found[0].text.empty());
    CHECK_FALSE(found[0].evidence.empty());
    CHECK_FALSE(found[0].nodes.empty());
  }
  CHECK(examples().size() == ids.size());
}

TEST_CASE("nothing is found in a sound program") {
  PipelineBuilder b;
  b.add("names", "TensorSliceDataset").source(8).counts(8, 20);
  b.add("read>file", "TFRecordDataset").counts(3200, 1000, 0.1);
  b.add("read", "ParallelInterleaveDatasetV4", {"names"})
      .holds("read>file")
      .cycle(2)
      .parallelism(2)
      .counts(3200, 1000, 0.1);
  b.add("mix", "ShuffleDatasetV3", {"read"}).buffer(100).counts(3200, 1000, 0.01);
  b.add("map", "ParallelMapDatasetV2", {"mix"})
      .parallelism(4)
      .function({}, "_f")
      .counts(3200, 1000, 1);
  b.add("batch", "BatchDatasetV2", {"map"}).count(32).counts(100, 32'000, 0.01);
  b.add("ahead", "PrefetchDataset", {"batch"}).buffer(2).counts(100, 32'000);
  const Pipeline p = b.build();
  Analysis a = analysis_of(p);
  a.costs.think_time_s = 0.05;  // a training step
  const auto found = findings(p, a);
  CHECK(std::ranges::all_of(found, [](const Finding& f) { return f.id.empty(); }));
  for (const Finding& f : found) UNSCOPED_INFO(f.id << ": " << f.text);
  CHECK(found.empty());
}

TEST_CASE("what does not move the bounds by two per cent is a hint") {
  Example slow = late_choice();
  const auto grave = found_in(slow, "late-choice");
  REQUIRE(grave.size() == 1);
  CHECK(grave[0].severity == Severity::kWarning);
  CHECK(grave[0].gain_per_s.value_or(0) > 0);

  slow.also = [](Analysis& a) { a.costs.think_time_s = 1; };  // the consumer takes much longer
  const auto idle = found_in(slow, "late-choice");
  CHECK(std::ranges::all_of(
      idle, [](const Finding& f) { return f.severity == Severity::kHint && !f.gain_per_s; }));

  const auto names_gain = found_in(names(), "cache-of-names");
  REQUIRE(names_gain.size() == 1);
  CHECK(names_gain[0].severity == Severity::kWarning);
}

TEST_CASE("files that do not fit into memory are read in every epoch") {
  const auto small = found_in(page_cache(64 * 0x1p30), "page-cache");
  REQUIRE(small.size() == 1);
  CHECK(small[0].text.starts_with("the files do not fit into memory"));
  const auto large = found_in(page_cache(500 * 0x1p30), "page-cache");
  REQUIRE(large.size() == 1);
  CHECK(large[0].text.ends_with("a disk limits the first epoch only"));
}

TEST_CASE("the order is blamed for what bounds do not explain, by how much") {
  const auto found = found_in(kept_order(), "order-kept");
  REQUIRE(found.size() == 1);
  CHECK(found[0].evidence.starts_with("traced at 100/s, 7"));
  CHECK(*found[0].gain_per_s > 200);
  Example free = kept_order();
  free.pipeline[NodeId{1}].deterministic = false;
  CHECK(found_in(free, "order-kept").empty());
}
