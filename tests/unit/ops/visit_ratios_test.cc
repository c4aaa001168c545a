// SPDX-License-Identifier: Apache-2.0
#include "ops/visit_ratios.h"

#include <fmt/format.h>

#include <array>

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

TEST_CASE("a batch that is larger than an epoch holds the whole epoch") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(50).counts(800);
  b.add("batch", "BatchDatasetV2", {"range"}).count(1000).counts(16);
  CHECK(visits(b.build()) == "range 50\nbatch 1\n");
}

TEST_CASE("what was never counted is unknown") {
  PipelineBuilder b;
  b.add("range", "RangeDataset");
  b.add("filter", "FilterDataset", {"range"});
  CHECK(visits(b.build()) == "range 1 measured unknown\nfilter 1\n");
}

TEST_CASE("an input that was gone before its node counts beside the node's elements of that time") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").counts(60).iterators(3, 20);
  b.add("filter", "FilterDataset", {"range"}).counts(100);
  CHECK(visits(b.build()) == "range 3 measured\nfilter 1\n");
}

TEST_CASE("a window reads shift elements, and short epochs their own number") {
  const auto window = [](std::int64_t elements) {
    PipelineBuilder b;
    auto range = b.add("range", "RangeDataset").counts(33);
    if (elements > 0) range.source(elements);
    auto made = b.add("window", "WindowDataset", {"range"}).count(4).counts(10);
    made.node().shift = 3;
    made.node().stride = 1;
    made.drop_remainder();
    return visits(b.build());
  };
  CHECK(window(0) == "range 3\nwindow 1\n");
  CHECK(window(10) == "range 3.33333 measured\nwindow 1\n");
}

TEST_CASE("an inner data set of fixed length tells how often its list is read") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").counts(3);  // lost between polls
  b.add("flat>inner", "RangeDataset").source(10).counts(400);
  b.add("flat", "FlatMapDataset", {"range"}).holds("flat>inner").counts(400);
  CHECK(visits(b.build()) == "range 0.1 measured\nflat>inner 1\nflat 1\n");
}

TEST_CASE("a mixture that reads all of its parts has their shares of an epoch") {
  PipelineBuilder b;
  b.add("choice", "RandomDataset").counts(80);
  b.add("a", "RangeDataset").source(30).counts(5).iterators(1, 8);
  b.add("c", "RangeDataset").source(50).counts(50).iterators(1, 80);
  b.add("mix", "DirectedInterleaveDataset", {"choice", "a", "c"}).counts(80);
  PerNode<std::optional<double>> epoch(4);
  const Pipeline p = b.build();
  for (std::size_t i = 1; i < 4; ++i)
    epoch[static_cast<NodeId>(i)] = std::array{0.0, 30.0, 50.0, 80.0}[i];
  const auto shares = [&](const VisitRatios& r) {
    return fmt::format("{:.4g} {:.4g}", r.visits[b.id("a")], r.visits[b.id("c")]);
  };
  CHECK(shares(visit_ratios(p, counter_window(p), &epoch)) == "0.375 0.625");
  CHECK(shares(visit_ratios(p, counter_window(p))) == "0.5 0.5");  // 5/8 to 50/80
}

TEST_CASE("a skip reads its skipped elements once an epoch") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(100).counts(100);
  b.add("skip", "SkipDataset", {"range"}).count(20).counts(80);
  CHECK(visits(b.build()) == "range 1.25\nskip 1\n");
}

}  // namespace plumber
