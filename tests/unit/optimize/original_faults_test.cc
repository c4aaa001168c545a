// SPDX-License-Identifier: Apache-2.0
// Input on which the original Plumber crashes or answers wrong, and the right answer. What has a
// test elsewhere:
//
//   disk counts in the optimum         paper_numbers_test.cc, below
//   prices of disks                    provision_test.cc
//   no CPU time, unlimited not zero    paper_model_test.cc, golden synthetic_zero_cpu
//   unresolved AUTOTUNE, no time       golden doubtful/unresolved_autotune, synthetic_t_zero
//   functions that call themselves     golden doubtful/recursive_function
//   diamonds and long chains           property/large_programs_test.cc
//   zip, concatenate                   ops/cardinality_test.cc
//   every kind of source               tests/tensorflow/every_op_test.py
//   constants of any form              rewrite/edits_test.cc
//   same elements after a rewrite      tests/tensorflow/rewrite_test.py (no take is left behind)
//
// Faults of its Python driver (parameter files, arguments of methods, its benchmarks' processes,
// TensorFlow 1) have no counterpart here.
#include "catch2_any.h"
#include "optimize/optimize.h"
#include "pipeline_builder.h"
#include "small_pipeline.h"

using namespace plumber;

namespace {

// Lists of 8 files of 100 records of 1,000 bytes, of which one pass of 4 files was read.
struct Listed {
  PipelineBuilder b;
  std::vector<std::string> names;
  Listed() {
    for (int i = 0; i < 8; ++i) names.push_back("f" + std::to_string(i));
    b.add("names", "TensorSliceDataset").files(names).counts(4, 20);
  }
  Pipeline read(const char* list) {
    b.add("read>file", "TFRecordDataset").counts(400, 1000).reads(400 * 1000);
    b.add("read", "InterleaveDataset", {list}).holds("read>file").counts(400, 1000);
    Pipeline p = b.build(Dialect::kOpstats);
    p.file_bytes_are_completed_only = true;
    for (int i = 0; i < 4; ++i) p.file_bytes[names[static_cast<std::size_t>(i)]] = 100 * 1000;
    return p;
  }
};

double records(const Pipeline& p, const std::string& node) {
  const Cardinality c = analyze(p, {}).nodes[*find_node(p, node)].elements_per_epoch;
  return c.kind == Cardinality::Kind::kKnown ? c.elements : -1;
}

}  // namespace

TEST_CASE("a disk limits the optimum") {
  SmallPipeline p = training();
  p.analysis.costs.nodes[NodeId{0}].disk_bytes = 16e6;
  OptimizeOptions options = within(16, 1e9);
  const double free_per_s = optimize(p.pipeline, p.analysis, options).predicted.after_per_s;
  options.limits.disks = {{"", flat_disk(160e6)}};
  const Predicted predicted = optimize(p.pipeline, p.analysis, options).predicted;
  CHECK(free_per_s > 50);
  CHECK(predicted.after_per_s == Approx(10).epsilon(0.01));
  REQUIRE(predicted.bound);
  CHECK(predicted.bound->kind == BoundKind::kDisk);
}

TEST_CASE("a cache at the root leaves nothing to rank, and that is no crash") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(100).counts(100, 8);
  b.add("cache", "CacheDatasetV2", {"range"}).counts(5000, 8, 0.01);
  const Pipeline p = b.build(Dialect::kOpstats);
  const Analysis a = analyze(p, {});
  CHECK(a.nodes[b.id("range")].below_cache);
  const OptimizeResult result = optimize(p, a, within(4, 1e9));
  CHECK(result.status != PlanStatus::kInfeasible);
}

TEST_CASE("a reader with the list of files itself, not under an interleave") {
  PipelineBuilder b;
  std::vector<std::string> names;
  for (int i = 0; i < 8; ++i) names.push_back("f" + std::to_string(i));
  b.add("read", "TFRecordDataset").files(names).counts(400, 1000).reads(400 * 1000);
  b.add("map", "MapDataset", {"read"}).function({}, "_parse").counts(400, 500);
  Pipeline p = b.build(Dialect::kOpstats);
  p[b.id("read")].source_elements.reset();  // its files, not its records
  p.dumps.back().counters[b.id("read")].files_opened = 4;
  p.file_bytes_are_completed_only = true;
  for (int i = 0; i < 4; ++i) p.file_bytes[names[static_cast<std::size_t>(i)]] = 100 * 1000;
  CHECK(records(p, "read") == Approx(800));
  CHECK(records(p, "map") == Approx(800));
}

TEST_CASE("a list of files behind shard, take, two shuffles or a repeat") {
  SECTION("as it is") {
    Listed listed;
    CHECK(records(listed.read("names"), "read") == Approx(800));
  }
  SECTION("a shard has its share of the files") {
    Listed listed;
    listed.b.add("shard", "ShardDataset", {"names"}).count(2).counts(2, 20);
    CHECK(records(listed.read("shard"), "read") == Approx(400));
  }
  SECTION("take") {
    Listed listed;
    listed.b.add("take", "TakeDataset", {"names"}).count(3).counts(3, 20);
    CHECK(records(listed.read("take"), "read") == Approx(300));
  }
  SECTION("two shuffles") {
    Listed listed;
    listed.b.add("mix", "ShuffleDatasetV3", {"names"}).buffer(8).counts(4, 20);
    listed.b.add("again", "ShuffleDatasetV3", {"mix"}).buffer(8).counts(4, 20);
    CHECK(records(listed.read("again"), "read") == Approx(800));
  }
  SECTION("repeat") {
    Listed listed;
    listed.b.add("epochs", "RepeatDataset", {"names"}).count(3).counts(4, 20);
    CHECK(records(listed.read("epochs"), "read") == Approx(2400));
  }
}

TEST_CASE("take, and a repeat above it: no more than there is, no fewer than none") {
  const auto taken = [](std::int64_t count) {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(100).counts(100, 8);
    b.add("take", "TakeDataset", {"range"}).count(count).counts(100, 8);
    return records(b.build(Dialect::kOpstats), "take");
  };
  CHECK(taken(500) == 100);
  CHECK(taken(-1) == 100);
  CHECK(taken(7) == 7);
}

TEST_CASE("two functions with data sets of one name are two nodes") {
  PipelineBuilder b;
  b.add("names", "TensorSliceDataset").source(4).counts(4, 20);
  b.add("a>TFRecordDataset/_1", "TFRecordDataset").counts(400, 100, 0.4);
  b.add("a", "InterleaveDataset", {"names"}).holds("a>TFRecordDataset/_1").counts(400, 100);
  b.add("b>TFRecordDataset/_1", "TFRecordDataset").counts(800, 100, 0.2);
  b.add("b", "InterleaveDataset", {"a"}).holds("b>TFRecordDataset/_1").counts(800, 100);
  const Pipeline p = b.build(Dialect::kOpstats);
  const Analysis a = analyze(p, {});
  CHECK(a.nodes[b.id("a>TFRecordDataset/_1")].service_s == Approx(1e-3));
  CHECK(a.nodes[b.id("b>TFRecordDataset/_1")].service_s == Approx(0.25e-3));
}

TEST_CASE("a cache above a shuffle, or above an endless repeat, is not proposed") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(100).counts(1000, 8, 0.1);
  b.add("mix", "ShuffleDatasetV3", {"range"}).buffer(100).counts(1000, 8, 0.1);
  b.add("map", "MapDataset", {"mix"}).function({}, "_f").counts(1000, 8, 5);
  b.add("epochs", "RepeatDataset", {"map"}).count(-1).counts(1000, 8, 0.1);
  Pipeline p = b.build(Dialect::kOpstats, 6);
  for (Counters& c : p.dumps.back().counters) c.cpu_s = c.service_s;
  const Analysis a = analyze(p, {});
  CHECK_FALSE(a.nodes[b.id("mix")].cache.legal);
  CHECK_FALSE(a.nodes[b.id("map")].cache.legal);
  CHECK_FALSE(a.nodes[b.id("epochs")].cache.legal);
  CHECK(a.nodes[b.id("range")].cache.legal);
}

TEST_CASE("two candidates for a cache on two branches: a random one hides only itself") {
  FunctionFacts random;
  random.random = {"RandomUniform"};
  PipelineBuilder b;
  b.add("left", "RangeDataset").source(100).counts(100, 8);
  b.add("flip", "MapDataset", {"left"}).function(random, "_flip").counts(100, 8);
  b.add("right", "RangeDataset").source(100).counts(100, 8);
  b.add("parse", "MapDataset", {"right"}).function({}, "_parse").counts(100, 8);
  b.add("zip", "ZipDataset", {"flip", "parse"}).counts(100, 16);
  const Pipeline p = b.build(Dialect::kOpstats);
  const Analysis a = analyze(p, {});
  CHECK(a.nodes[b.id("flip")].cache.cache_class == CacheClass::kContent);
  CHECK(a.nodes[b.id("parse")].cache.legal);
  CHECK(a.nodes[b.id("zip")].cache.cache_class == CacheClass::kContent);
}
