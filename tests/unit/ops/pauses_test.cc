// SPDX-License-Identifier: Apache-2.0
#include "ops/pauses.h"

#include "catch2_any.h"
#include "pipeline_builder.h"

namespace plumber {
namespace {

NodeCost cost(double work_s, double elements) {
  NodeCost c;
  c.work_s = c.cpu_s = work_s;
  c.elements = elements;
  return c;
}

// range -> map -> batch of 16 (400 us) -> map over batches (100 us)
struct Batched {
  Pipeline pipeline;
  Costs costs;
  Setting setting;
  NodeId map{1}, batch{2}, later{3};

  Batched() {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(1000);
    b.add("map", "MapDataset", {"range"}).function({});
    b.add("batch", "BatchDatasetV2", {"map"}).count(16);
    b.add("later", "MapDataset", {"batch"}).function({});
    pipeline = b.build();
    costs.nodes = PerNode<NodeCost>(4);
    costs.nodes[NodeId{0}] = cost(0, 16);
    costs.nodes[map] = cost(16 * 100e-6, 16);
    costs.nodes[batch] = cost(400e-6, 1);
    costs.nodes[later] = cost(100e-6, 1);
    setting = Setting(4);
  }
  Pause above_map() const { return pauses_above(pipeline, costs, setting)[map]; }
};

TEST_CASE("a batch stops pulling while it copies and while its thread does more with it") {
  Batched p;
  CHECK(p.above_map().length_s == Approx(500e-6));
  CHECK(p.above_map().per_root == Approx(1));
  CHECK(p.above_map().elements == Approx(16));
  p.setting[p.batch].prefetch_above = true;
  CHECK(p.above_map().length_s == Approx(400e-6));
  p.setting[p.batch].mode = Mode::kParallel;  // the copying is done elsewhere
  CHECK(p.above_map().length_s == 0);
}

TEST_CASE("calls that are too few for a pause leave cores idle") {
  const Pause pause{400e-6, 2, 16};
  CHECK(idle_in_pauses_s(pause, 2, 100e-6, 2) == Approx(2 * 200e-6));
  CHECK(idle_in_pauses_s(pause, 4, 100e-6, 2) == 0);
  CHECK(idle_in_pauses_s(pause, 2, 100e-6, 1) == 0);  // the batch's thread has the only core
  // No more than is taken until the next pause can be made ahead.
  CHECK(idle_in_pauses_s(pause, 2, 100e-6, 64) == Approx(2 * 14 * 100e-6));
}

}  // namespace
}  // namespace plumber
