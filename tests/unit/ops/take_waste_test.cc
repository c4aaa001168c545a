// SPDX-License-Identifier: Apache-2.0
// What a take throws away at the end of each pass.
#include "ops/take_waste.h"

#include "catch2_any.h"
#include "ops/analysis.h"
#include "pipeline_builder.h"

namespace plumber {
namespace {

// range(1000) -> map, 10 calls -> prefetch that holds 3 -> take(8) -> repeat
struct Chain {
  PipelineBuilder b;
  Pipeline pipeline;
  Costs costs;
  NodeId range{0}, map{1}, prefetch{2}, take{3};

  explicit Chain(double elements_left = 992) {
    b.add("range", "RangeDataset").source(1000).counts(180, 8, 0);
    b.add("map", "ParallelMapDatasetV2", {"range"})
        .function({})
        .parallelism(10)
        .counts(110, 8, 180e-3);
    b.add("prefetch", "PrefetchDataset", {"map"}).buffer(4).counts(80, 8, 0);
    b.add("take", "TakeDataset", {"prefetch"}).count(8).counts(80, 8, 0);
    b.add("repeat", "RepeatDataset", {"take"}).counts(80, 8, 0);
    pipeline = b.build();
    pipeline[prefetch].buffer_fill = 3;
    costs.nodes = PerNode<NodeCost>(pipeline.size(), {.work_s = 1, .elements = 1});
    costs.nodes[take].elements_left = elements_left;
  }

  PerNode<Begun> begun() const {
    return begun_below_takes(pipeline, costs, traced_setting(pipeline)).value();
  }
};

}  // namespace

TEST_CASE("0.7 of the calls in flight and what a prefetch holds are begun for nothing") {
  const Chain c;
  CHECK(c.begun()[c.take].elements == 1);
  CHECK(c.begun()[c.prefetch].elements == 1);
  CHECK(c.begun()[c.map].elements == Approx((8 + 3) / 8.));
  CHECK(c.begun()[c.map].work == Approx((8 + 3 + 7) / 8.));
  CHECK(c.begun()[c.range].elements == Approx((8 + 3 + 7) / 8.));
}

TEST_CASE("no more than the data set has left; nothing where the take takes all") {
  CHECK(Chain(5).begun()[NodeId{0}].elements == Approx((8 + 5) / 8.));
  const Chain all(0);
  CHECK_FALSE(begun_below_takes(all.pipeline, all.costs, traced_setting(all.pipeline)).has_value());
}

TEST_CASE("a filter below the take: how many it holds back is not known") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000);
  b.add("map", "ParallelMapDatasetV2", {"range"}).function({}).parallelism(10);
  b.add("filter", "FilterDataset", {"map"}).function({});
  b.add("take", "TakeDataset", {"filter"}).count(8);
  const Pipeline p = b.build();
  Costs costs;
  costs.nodes = PerNode<NodeCost>(p.size());
  costs.nodes[p.root].elements_left = 100;
  const auto begun = begun_below_takes(p, costs, traced_setting(p)).value();
  CHECK(begun[NodeId{1}].work == 1);
}

TEST_CASE("what a trace counted of a parallel map is the time of all its calls") {
  // 180 calls of 1 ms, of which 110 elements left the map: an element's work is 1 ms.
  Chain c;
  c.pipeline[c.map].function->facts.ops = 0;
  const Analysis a = analyze(c.pipeline, {});
  CHECK(a.costs.nodes[c.take].elements_left == 992);
  const double overcounted_s = a.costs.hand_off.kpm;  // node time holds it for each call
  CHECK(a.costs.nodes[c.map].work_s ==
        Approx((180e-3 / 110 - overcounted_s) / ((8 + 3 + 7) / (8 + 3.))).epsilon(0.01));
}

}  // namespace plumber
