// SPDX-License-Identifier: Apache-2.0
// The constants of handing over, fitted to how fast the traced program was.
#include "ops/hand_off_fit.h"

#include "catch2_any.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

/// 128 records a root element through a legacy interleave, 0.3 ms of work in all, the rest are
/// hand-overs.
SmallPipeline legacy() {
  SmallPipeline p;
  const NodeId list = p.source("TensorSliceDataset", {.elements = 0.01});
  const NodeId reader = p.source("CSVDatasetV2", {.work_ms = 0.2, .elements = 128});
  const NodeId read = p.add("LegacyParallelInterleaveDatasetV2", {list}, {.elements = 128});
  p.pipeline[reader].outer = read;
  p.pipeline[read].inner = {reader};
  p.pipeline[read].cycle_length = 1;
  p.finish(p.batch(read, 128, {.work_ms = 0.1}));
  return p;
}

double lowered_s(double period_s) {
  const SmallPipeline p = legacy();
  Costs costs = p.analysis.costs;
  lower_legacy_handover(p.pipeline, traced_setting(p.pipeline), {period_s, 0, 0, {2}}, costs);
  Costs used = costs;
  used.think_time_s = 0;
  const double now_s = evaluate(p.pipeline, used, traced_setting(p.pipeline), {2}).period_s;
  CHECK(now_s <= period_s * 1.02);
  return costs.hand_off.legacy_handover;
}

TEST_CASE("a legacy interleave hands on at least as quickly as the program ran") {
  const double built_in_s = HandOff{}.legacy_handover;
  CHECK(lowered_s(1) == built_in_s);  // slower than the model: for other reasons
  CHECK(lowered_s(1.6e-3) < built_in_s);
  CHECK(lowered_s(1.6e-3) > lowered_s(1.4e-3));
}

}  // namespace
}  // namespace plumber
