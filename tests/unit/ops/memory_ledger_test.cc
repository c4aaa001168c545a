// SPDX-License-Identifier: Apache-2.0
#include "ops/memory_ledger.h"

#include <fmt/format.h>

#include "catch2_any.h"
#include "ops/cardinality.h"
#include "pipeline_builder.h"

using namespace plumber;

namespace {

// "shuffle: shuffle buffer 21000", one a line, largest first.
std::string ledger(const Pipeline& p, const std::string& below_cache = "") {
  PerNode<NodeAnalysis> nodes(p.size());
  Setting setting(p.size());
  const auto elements = elements_per_epoch(p, counted_visits(p));
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    const Counters& c = p.dumps.back().counters[n];
    nodes[n].elements_per_epoch = elements[n];
    nodes[n].bytes_per_element = c.elements > 0 ? c.bytes_produced / c.elements : 0;
    nodes[n].materialized_bytes = materialized_bytes(elements[n], nodes[n].bytes_per_element);
    nodes[n].below_cache = p[n].name == below_cache;
    setting[n] = stock_setting(p, {1})[n];
    setting[n].parallelism = static_cast<double>(p[n].parallelism.value_or(1));
  }
  const Memory memory = memory_ledger(p, nodes, setting);
  std::string text;
  double sum = 0;
  for (const MemoryItem& item : memory.items) {
    text += fmt::format("{}: {} {:.9g}\n", item.node, item.what, item.bytes);
    sum += item.bytes;
  }
  CHECK(memory.held_bytes == Approx(sum));
  return text;
}

}  // namespace

TEST_CASE("what a training pipeline holds") {
  PipelineBuilder b;
  b.add("files", "TensorSliceDataset").source(40).counts(4, 50);
  b.add("read>file", "TFRecordDataset").counts(400, 1000);
  b.add("read", "ParallelInterleaveDatasetV4", {"files"})
      .holds("read>file")
      .cycle(4)
      .parallelism(4)
      .counts(400, 1000);
  b.add("decode", "ParallelMapDatasetV2", {"read"}).parallelism(8).counts(400, 5000);
  b.add("shuffle", "ShuffleDatasetV3", {"decode"}).buffer(100).counts(400, 5000);
  b.add("batch", "BatchDatasetV2", {"shuffle"}).count(10).counts(40, 50000);
  b.add("prefetch", "PrefetchDataset", {"batch"}).buffer(2).counts(40, 50000);
  CHECK(ledger(b.build()) ==
        "read: interleave buffers 1072576\n"  // 4 files of 256 KiB, 12 times two records
        "shuffle: shuffle buffer 520000\n"
        "prefetch: prefetch 100000\n"
        "batch: batch in flight 50000\n"
        "decode: calls in flight 40000\n"
        "files: source tensors 2000\n");
}

TEST_CASE("a shuffle holds no more than an epoch, and two hundred bytes beside each element") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(50).counts(50, 8);
  b.add("shuffle", "ShuffleDatasetV3", {"range"}).buffer(1000000).counts(50, 8);
  CHECK(ledger(b.build()) == "shuffle: shuffle buffer 10400\n");
}

TEST_CASE("a memory cache holds its epoch, a file cache nothing; below one nothing is held") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(50).counts(50, 8);
  b.add("low", "ShuffleDatasetV3", {"range"}).buffer(10).counts(50, 8);
  b.add("memory", "CacheDatasetV2", {"low"}).counts(150, 8);
  b.add("file", "CacheDatasetV2", {"memory"}).counts(150, 8).node().cache_file = "x";
  CHECK(ledger(b.build(), "low") == "memory: cache 10400\n");
}

TEST_CASE("buffers inside an interleave count for each open file") {
  PipelineBuilder b;
  b.add("files", "TensorSliceDataset").source(2).counts(2, 0);
  b.add("read>range", "RangeDataset").counts(100, 8);
  b.add("read>ahead", "PrefetchDataset", {"read>range"}).buffer(10).counts(100, 8);
  b.add("read", "InterleaveDataset", {"files"}).holds("read>ahead").cycle(16).counts(100, 8);
  CHECK(ledger(b.build()) == "read>ahead: prefetch 160\n");
}

TEST_CASE("a fused map and batch holds whole batches") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(50).counts(50, 8);
  b.add("both", "MapAndBatchDataset", {"range"}).count(10).parallelism(16).counts(5, 80);
  CHECK(ledger(b.build()) == "both: calls in flight 240\n");
}
