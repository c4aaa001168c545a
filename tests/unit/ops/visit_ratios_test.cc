// SPDX-License-Identifier: Apache-2.0
#include "ops/visit_ratios.h"

#include <fmt/format.h>

#include "catch2_any.h"
#include "pipeline_builder.h"

namespace plumber {
namespace {

std::string visits(const Pipeline& p) {
  const VisitRatios r = visit_ratios(p, counter_window(p));
  std::string text;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    text += fmt::format("{} {:.6g}{}{}\n", p[n].name, r.visits[n],
                        r.structural[n] ? "" : " measured", r.known[n] ? "" : " unknown");
  }
  return text;
}

}  // namespace

TEST_CASE("structural ratios ignore what buffers hold, measured ones follow the counts") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").counts(1200);
  b.add("filter", "FilterDataset", {"range"}).counts(600);
  b.add("shuffle", "ShuffleDatasetV3", {"filter"}).buffer(100).counts(500);
  b.add("batch", "BatchDatasetV2", {"shuffle"}).count(10).counts(50);
  CHECK(visits(b.build()) ==
        "range 20 measured\n"
        "filter 10\n"
        "shuffle 10\n"
        "batch 1\n");
}

TEST_CASE("a concatenation's shares come from the program where it knows both parts") {
  PipelineBuilder b;
  b.add("a", "RangeDataset").source(900).counts(900);
  b.add("c", "RangeDataset").source(100).counts(20);  // polling lost most of it
  b.add("both", "ConcatenateDataset", {"a", "c"}).counts(1000);
  CHECK(visits(b.build()) == "a 0.9\nc 0.1\nboth 1\n");
}

TEST_CASE("what was never counted is unknown") {
  PipelineBuilder b;
  b.add("range", "RangeDataset");
  b.add("filter", "FilterDataset", {"range"});
  CHECK(visits(b.build()) == "range 1 measured unknown\nfilter 1\n");
}

TEST_CASE("a skip reads its skipped elements once an epoch") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(100).counts(100);
  b.add("skip", "SkipDataset", {"range"}).count(20).counts(80);
  CHECK(visits(b.build()) == "range 1.25\nskip 1\n");
}

}  // namespace plumber
