// SPDX-License-Identifier: Apache-2.0
#include "ops/buffer_levels.h"

#include "catch2_any.h"
#include "pipeline_builder.h"

using namespace plumber;

namespace {

// range, map (parallel), prefetch(8), of which the dumps saw these fills.
std::vector<BufferLevel> levels(const std::vector<double>& fills, std::optional<double> mean = {}) {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(100, 8);
  b.add("map", "ParallelMapDatasetV2", {"range"}).parallelism(4).function({}).counts(100, 8);
  b.add("ahead", "PrefetchDataset", {"map"}).buffer(8).counts(100, 8);
  Pipeline p = b.build();
  p[b.id("ahead")].buffer_fill = mean;
  p.dumps.resize(fills.size(), p.dumps.front());
  for (std::size_t i = 0; i < fills.size(); ++i)
    p.dumps[i].counters[b.id("ahead")].buffered_elements = fills[i];
  return buffer_levels(p);
}

}  // namespace

TEST_CASE("an empty buffer waits for what fills it, a full one for what empties it") {
  CHECK(levels({0, 1, 0})[1].level == Level::kEmpty);
  CHECK(levels({8, 7, 8})[1].level == Level::kFull);
  CHECK(levels({1, 8, 3})[1].level == Level::kBetween);
}

TEST_CASE("the fill over time: least, most, mean, and the recorder's mean where there is one") {
  const auto buffers = levels({2, 8, 5});
  REQUIRE(buffers.size() == 2);
  CHECK(buffers[0].capacity == 4);  // calls in flight
  CHECK(buffers[1].capacity == 8);
  CHECK(buffers[1].fills == std::vector<double>{2, 8, 5});
  CHECK(buffers[1].least == 2);
  CHECK(buffers[1].most == 8);
  CHECK(buffers[1].mean == 5);
  // Full when the trace ended, empty for most of the time.
  CHECK(levels({8, 8, 8}, 0.5)[1].mean == 0.5);
  CHECK(levels({8, 8, 8}, 0.5)[1].level == Level::kEmpty);
}

TEST_CASE("one look at the end says nothing, a recorder's polls do") {
  CHECK(levels({8}).empty());
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(100, 8);
  b.add("ahead", "PrefetchDataset", {"range"}).buffer(8).counts(100, 8);
  Pipeline p = b.build();
  p.recorder.emplace();
  REQUIRE(buffer_levels(p).size() == 1);
  CHECK(buffer_levels(p)[0].level == Level::kEmpty);  // never seen with an element
  p[b.id("ahead")].buffer_fill = 7.9;
  CHECK(buffer_levels(p)[0].level == Level::kFull);
}

TEST_CASE("what has no capacity or no elements is no buffer") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(100, 8);
  b.add("ahead", "PrefetchDataset", {"range"}).buffer(-1).counts(100, 8);
  b.add("never", "PrefetchDataset", {"ahead"}).buffer(4);
  CHECK(buffer_levels(b.build()).empty());
  CHECK(buffer_levels(b.build(Dialect::kOpstats)).empty());
}
