// SPDX-License-Identifier: Apache-2.0
#include "report/show_view.h"

#include "catch2_any.h"
#include "pipeline_builder.h"
#include "report/render.h"

using namespace plumber;

TEST_CASE("The program is a tree: branches and inner data sets stand one step to the right") {
  PipelineBuilder b;
  b.add("files", "TensorSliceDataset").source(4);
  b.add("read>records", "TFRecordDataset").counts(400, 10, 0.5);
  b.add("read", "InterleaveDataset", {"files"}).holds("read>records").cycle(2).counts(400, 10);
  b.add("labels", "RangeDataset").source(400);
  b.add("zip", "ZipDataset", {"read", "labels"});
  b.add("batch", "BatchDatasetV2", {"zip"}).count(8).counts(50, 80);
  Pipeline pipeline = b.build(Dialect::kModel, 2);
  pipeline.graph_fingerprint = "0123456789abcdef";
  Trace trace;
  trace.name = "test.pb";
  trace.dialect = Dialect::kModel;

  const std::string text = render_text(show_view(trace, pipeline), {});
  CHECK(text.substr(text.find("Program"), text.find("Dumps") - text.find("Program")) ==
        R"(Program, consumer first (counters of the whole trace)
  node         function  settings      elements    time     bytes
  batch                  batch 8             50     0 s  3.91 KiB
  zip                                         -       -         -
    read                 cycle 2            400     0 s  3.91 KiB
      records                               400  500 ms  3.91 KiB
    files                4 elements           -       -         -
    labels               400 elements         -       -         -

)");
}
