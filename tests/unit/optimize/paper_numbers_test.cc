// SPDX-License-Identifier: Apache-2.0
// The numbers that the paper and its released code work out, from the same inputs. Its linear
// programs stand in paper_model_test.cc, its prices in provision_test.cc, its disk in
// ops/disk_curve_test.cc.
#include <cmath>

#include "catch2_any.h"
#include "optimize/optimize.h"
#include "optimize/paper_model.h"
#include "pipeline_builder.h"
#include "small_pipeline.h"

using namespace plumber;

namespace {

// Minibatches of `batch` records that an interleave reads, 16 cores.
Pipeline reading(double batch, double record_bytes) {
  PipelineBuilder b;
  const double records = 100 * batch;
  b.add("names", "TensorSliceDataset").source(4).counts(4, 20);
  b.add("read>file", "TFRecordDataset")
      .counts(records, record_bytes, 1e-3)
      .reads(records * record_bytes);
  b.add("read", "InterleaveDataset", {"names"}).holds("read>file").counts(records, record_bytes);
  b.add("batch", "BatchDatasetV2", {"read"})
      .count(static_cast<std::int64_t>(batch))
      .counts(100, batch * record_bytes);
  Pipeline p = b.build(Dialect::kOpstats);
  p.machine.cores = 16;
  for (Counters& c : p.dumps.back().counters) c.cpu_s = c.service_s;
  return p;
}

double disk_bound_per_s(const Pipeline& p, double bytes_per_s) {
  const Analysis a = analyze(p, {});
  const Machine machine{16, {{"", flat_disk(bytes_per_s)}}};
  for (const Bound& bound : evaluate(p, a.costs, a.setting, machine).bounds)
    if (bound.kind == BoundKind::kDisk) return bound.bound_per_s;
  return 0;
}

// Reading, decoding (which grows) and a batch below a repeat; a cache may stand above each.
struct Sizes {
  double source_bytes, decoded_bytes, records;
};
std::string cached_at(const Sizes& sizes, double memory_bytes) {
  SmallPipeline p;
  const NodeId read = p.source("TFRecordDataset", {.work_ms = 30,
                                                   .elements = 128,
                                                   .bytes = sizes.source_bytes / sizes.records,
                                                   .per_epoch = sizes.records});
  const NodeId decode = p.map(read, "_decode",
                              {.work_ms = 500,
                               .calls = 128,
                               .elements = 128,
                               .bytes = sizes.decoded_bytes / sizes.records,
                               .per_epoch = sizes.records});
  const NodeId crop = p.map(
      decode, "_crop",
      {.work_ms = 50, .calls = 128, .elements = 128, .bytes = 6e5, .per_epoch = sizes.records});
  p.random(crop);
  for (const NodeId id : {read, decode}) p.may_cache(id);
  p.finish(p.add("RepeatDataset", {p.batch(crop, 128, {.work_ms = 1, .bytes = 7.7e7})}, {}));
  const OptimizeResult result = optimize(p.pipeline, p.analysis, within(16, memory_bytes));
  for (const Edit& edit : result.plan.edits)
    if (edit.kind == EditKind::kInsertCache) return edit.node;
  return "none";
}

}  // namespace

TEST_CASE("110 KB a record, 128 of them, 100 MB/s: 6.9 minibatches a second") {
  CHECK(disk_bound_per_s(reading(128, 110 * 1024), 100e6) == Approx(6.936).epsilon(1e-4));
  CHECK(disk_bound_per_s(reading(128, 110e3), 100e6) == Approx(7.10).epsilon(1e-3));
}

TEST_CASE("the paper's hard disk and NVMe, by the bytes of a minibatch") {
  const double hard_disk = 163.73e6, nvme = 2e9;
  const Pipeline resnet = reading(128, 14.80e6 / 128), ssd = reading(4, 0.6937e6 / 4),
                 rcnn = reading(1, 168.8e3);
  CHECK(disk_bound_per_s(resnet, hard_disk) == Approx(11.06).epsilon(2e-3));
  CHECK(disk_bound_per_s(resnet, nvme) == Approx(135).epsilon(2e-3));
  CHECK(disk_bound_per_s(ssd, hard_disk) == Approx(235).epsilon(0.01));
  CHECK(disk_bound_per_s(ssd, nvme) == Approx(2900).epsilon(0.01));
  CHECK(disk_bound_per_s(rcnn, hard_disk) == Approx(970).epsilon(1e-3));
  CHECK(disk_bound_per_s(rcnn, nvme) == Approx(11850).epsilon(1e-3));
}

TEST_CASE("figure 5: 30 minibatches of 15 MB and half a core second take 450 MB/s and 15 cores") {
  CHECK(disk_bound_per_s(reading(128, 15e6 / 128), 450e6) == Approx(30).epsilon(1e-3));
  SmallPipeline p;
  p.finish(p.parallel_map(p.source("RangeDataset", {}), "_decode", 1, {.work_ms = 500}));
  const auto optimum = paper_optimum(p.pipeline, paper_nodes(p.pipeline, p.analysis), 15);
  CHECK(optimum.objective_per_s == Approx(30));
}

TEST_CASE("2.5 minibatches a second and core on 16 threads: at most 40") {
  SmallPipeline p;
  p.finish(p.parallel_map(p.source("RangeDataset", {}), "_decode", 1, {.work_ms = 400}));
  const auto optimum = paper_optimum(p.pipeline, paper_nodes(p.pipeline, p.analysis), 16);
  CHECK(optimum.objective_per_s == Approx(40));
}

TEST_CASE("1,024 files of 1,200 records and 144 MB: 1.2 million records, 147.5 GB") {
  PipelineBuilder b;
  std::vector<std::string> names;
  for (int i = 0; i < 1024; ++i) names.push_back("f" + std::to_string(i));
  const double seen = 10 * 1200, record = 144e6 / 1200;
  b.add("names", "TensorSliceDataset").files(names).counts(10, 20);
  b.add("read>file", "TFRecordDataset").counts(seen, record).reads(seen * record);
  b.add("read", "InterleaveDataset", {"names"}).holds("read>file").counts(seen, record);
  b.add("batch", "BatchDatasetV2", {"read"}).count(128).counts(seen / 128, 128 * record);
  Pipeline p = b.build(Dialect::kOpstats);
  p.file_bytes_are_completed_only = true;
  for (int i = 0; i < 10; ++i) p.file_bytes[names[static_cast<std::size_t>(i)]] = 144e6;
  const Analysis a = analyze(p, {});
  const NodeAnalysis& read = a.nodes[b.id("read")];
  CHECK(read.elements_per_epoch.elements == Approx(1'228'800));
  CHECK(*read.materialized_bytes == Approx(147.456e9));
  // A batch divides the elements and keeps the size.
  const NodeAnalysis& batch = a.nodes[b.id("batch")];
  CHECK(batch.elements_per_epoch.elements == Approx(9600));
  CHECK(*batch.materialized_bytes == Approx(147.456e9));
}

TEST_CASE("a filter that lets 50 of 1,000 pass looks at 20 elements for each") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(1000, 8);
  b.add("filter", "FilterDataset", {"range"}).function({}, "_rare").counts(50, 8);
  const Pipeline p = b.build(Dialect::kOpstats);
  CHECK(analyze(p, {}).nodes[b.id("range")].visit_ratio == Approx(20));
}

TEST_CASE("the notebook: utilisation 0.0438 of 16 cores, and what its nodes count") {
  PipelineBuilder b;  // range(100000).map(f).padded_batch(4).repeat(2)
  b.add("range", "RangeDataset").source(100'000).counts(40'000, 8);
  b.add("map", "MapDataset", {"range"}).function({}, "_f").counts(40'000, 8);
  b.add("batch", "PaddedBatchDatasetV2", {"map"}).count(4).counts(10'000, 32);
  b.add("repeat", "RepeatDataset", {"batch"}).count(2).counts(10'000, 32);
  Pipeline p = b.build(Dialect::kOpstats, 10.000346);
  p.machine.cores = 16;
  Counters& map = p.dumps.back().counters[b.id("map")];
  map.service_s = map.cpu_s = 7.008759393;
  const Analysis a = analyze(p, {});
  double busy = 0;
  for (const NodeAnalysis& node : a.nodes) busy += node.busy_cores;
  CHECK(busy / a.cores == Approx(0.04380323061447074).epsilon(1e-12));
  const double expected[] = {100'000, 100'000, 25'000, 50'000};
  for (std::size_t i = 0; i < p.size(); ++i)
    CHECK(a.nodes[static_cast<NodeId>(i)].elements_per_epoch.elements == expected[i]);
  // An int64 has 8 bytes; the original takes 4.
  CHECK(*a.nodes[b.id("range")].materialized_bytes == 800'000);
}

TEST_CASE("what the paper's machines cache: the largest that fits, as near to the consumer") {
  const Sizes imagenet{148e9, 790e9, 1'281'167}, validation{5.78e9, 33e9, 50'000},
      coco{20e9, 97e9, 118'287};
  CHECK(cached_at(imagenet, 300e9) == "TFRecordDataset/_0");
  CHECK(cached_at(imagenet, 1000e9) == "MapDataset/_1");
  CHECK(cached_at(imagenet, 100e9) == "none");
  CHECK(cached_at(validation, 300e9) == "MapDataset/_1");
  CHECK(cached_at(coco, 32 * 0x1p30) == "TFRecordDataset/_0");
}
