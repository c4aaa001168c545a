// SPDX-License-Identifier: Apache-2.0
// Readers that wait in bursts: periods worked out by hand from the formula in ops/bursts.h.
#include "ops/bursts.h"

#include "catch2_any.h"
#include "pipeline_builder.h"

namespace plumber {
namespace {

// 32 files at a time, 16 records of 16 KiB a root element: a read of 256 KiB is 16 of them.
struct Readers {
  Pipeline pipeline;
  Costs costs;
  Setting setting;
  NodeId files{0}, records{1}, read{2}, batch{3};

  Readers() {
    PipelineBuilder b;
    b.add("files", "TensorSliceDataset").source(32);
    b.add("read>records", "TFRecordDataset");
    b.add("read", "ParallelInterleaveDatasetV4", {"files"}).holds("read>records").cycle(32);
    b.add("batch", "BatchDatasetV2", {"read"}).count(16);
    pipeline = b.build();
    costs.nodes = PerNode<NodeCost>(4);
    costs.hand_off = HandOff();
    for (const NodeId id : {files, records, read, batch}) costs.nodes[id].elements = 16;
    costs.nodes[records].work_s = 64e-3;  // 2 ms with 32 readers
    costs.nodes[records].cpu_s = 0;
    costs.nodes[records].disk_bytes = 16 * 16384;
    costs.nodes[batch] = {.work_s = 1e-3, .cpu_s = 1e-3, .elements = 1};
    setting = PerNode<NodeSetting>(4);
    setting[read] = {Mode::kParallel, 32};
  }

  double period_s() const { return evaluate(pipeline, costs, setting, {64}).period_s; }
};

}  // namespace

TEST_CASE("what stands above the readers stands still while all of them wait") {
  Readers r;
  const double waiting_s = r.period_s();
  r.pipeline[r.read].deterministic = false;  // who is ready hands on
  const double ready_s = r.period_s();
  const double rest_s = waiting_s - ready_s;
  CHECK(rest_s > 14. / 16 * 1e-3);
  CHECK(rest_s < 14. / 16 * 1.3e-3);  // the batch's thread, with what handing over costs
}

TEST_CASE("a buffer of a read's records lets them wait beside the work") {
  Readers r;
  const double waiting_s = r.period_s();
  r.pipeline[r.read].buffer_size = 16;
  CHECK(r.period_s() < waiting_s - 0.8e-3);
}

TEST_CASE("readers that work are no such readers") {
  Readers r;
  const double waiting_s = r.period_s();
  r.costs.nodes[r.records].cpu_s = 40e-3;
  CHECK(r.period_s() < waiting_s - 0.8e-3);
}

}  // namespace plumber
