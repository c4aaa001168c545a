// SPDX-License-Identifier: Apache-2.0
// The sentence that comes first, for each verdict, and the sections around it, from hand-made
// values.
#include "report/analysis_view.h"

#include "catch2_any.h"
#include "pipeline_builder.h"
#include "report/render.h"
#include "report/value_text.h"

using namespace plumber;

namespace {

Pipeline read_map_batch() {
  PipelineBuilder b;
  b.add("read", "TFRecordDataset").counts(1600, 100, 0.1);
  b.add("map", "MapDataset", {"read"}).counts(1600, 400, 8).function({}, "decode");
  b.add("batch", "BatchDatasetV2", {"map"}).count(16).counts(100, 6400, 0.5);
  Pipeline pipeline = b.build(Dialect::kModel, 10);
  pipeline.consumer.bare = false;
  return pipeline;
}

Bound bound(BoundKind kind, double rate_per_s, std::vector<int> nodes) {
  Bound result{kind, {}, rate_per_s};
  for (const int node : nodes) result.nodes.push_back(NodeId{node});
  return result;
}

Analysis analysis_of(const Pipeline& pipeline, Verdict verdict, double wait_share) {
  Analysis analysis;
  analysis.elapsed_s = 10;
  analysis.root_elements = 100;
  analysis.cores = 4;
  analysis.rate.observed_per_s = 10;
  analysis.verdict = verdict;
  analysis.consumer.wait_share = wait_share;
  analysis.bounds = {bound(BoundKind::kThread, 11.6, {1, 2, 0})};
  analysis.nodes = PerNode<NodeAnalysis>(pipeline.size());
  return analysis;
}

std::string verdict_of(const Pipeline& pipeline, const Analysis& analysis) {
  const Report report = analysis_view(pipeline, analysis);
  return readable(std::get<Prose>(report.sections.front().body).sentences.front());
}

std::string verdict_of(const Bound& bottleneck) {
  const Pipeline pipeline = read_map_batch();
  Analysis analysis = analysis_of(pipeline, Verdict::kInputBound, 0.96);
  analysis.bounds = {bottleneck};
  return verdict_of(pipeline, analysis);
}

}  // namespace

TEST_CASE("The verdict comes first, in one sentence") {
  Pipeline pipeline = read_map_batch();
  CHECK(verdict_of(pipeline, analysis_of(pipeline, Verdict::kInputBound, 0.96)) ==
        "Input-bound: the consumer waits 96 % of the time; map (decode), on one thread with 2 more "
        "nodes, limits the pipeline to 11.6/s.");
  CHECK(verdict_of(pipeline, analysis_of(pipeline, Verdict::kBalanced, 0.2)) ==
        "Balanced: the consumer waits 20 % of the time; map (decode), on one thread with 2 more "
        "nodes, limits the pipeline to 11.6/s.");
  CHECK(verdict_of(pipeline, analysis_of(pipeline, Verdict::kConsumerBound, 0.04)) ==
        "Consumer-bound: the consumer waits only 4 % of the time; the pipeline could give 11.6/s, "
        "and a faster one would not help.");
  pipeline.consumer.bare = true;
  CHECK(
      verdict_of(pipeline, analysis_of(pipeline, Verdict::kInputBound, 0.96)) ==
      "Input-bound: map (decode), on one thread with 2 more nodes, limits the pipeline to 11.6/s.");

  Analysis without_counters = analysis_of(pipeline, Verdict::kUnknown, 0);
  without_counters.bounds.clear();
  CHECK(verdict_of(pipeline, without_counters) ==
        "Unknown: the trace has no counters, so it does not show what limits the pipeline.");
}

TEST_CASE("Each kind of limit has its words") {
  const std::string waits = "Input-bound: the consumer waits 96 % of the time; ";
  CHECK(verdict_of(bound(BoundKind::kParallel, 12, {1})) ==
        waits + "map (decode) limits the pipeline to 12/s.");
  CHECK(
      verdict_of(bound(BoundKind::kCpu, 12, {1, 0})) ==
      waits +
          "the cores are all busy, most of all with map (decode), and limit the pipeline to 12/s.");
  CHECK(verdict_of(bound(BoundKind::kDisk, 12, {0})) ==
        waits + "the disk, read by read, limits the pipeline to 12/s.");
  CHECK(verdict_of(bound(BoundKind::kPythonLock, 12, {1})) ==
        waits +
            "map (decode) holds Python's lock, which one thread at a time can have, and limits "
            "the pipeline to 12/s.");
  CHECK(verdict_of(bound(BoundKind::kThread, 12, {1})) ==
        waits + "map (decode) on its one thread limits the pipeline to 12/s.");
}

TEST_CASE("Several dumps give the rate with its interval") {
  const Pipeline pipeline = read_map_batch();
  Analysis analysis = analysis_of(pipeline, Verdict::kInputBound, 0.96);
  analysis.rate.ci95_per_s = std::pair(9.5, 10.5);
  const std::string text = render_text(analysis_view(pipeline, analysis), {});
  CHECK(text.find(
            "Traced: 100 elements in 10 s, 10/s (95 % interval 9.5/s to 10.5/s), on 4 cores.") !=
        std::string::npos);
}

TEST_CASE("Advice is numbered and says gain, evidence and the line of Python") {
  const Pipeline pipeline = read_map_batch();
  Analysis analysis = analysis_of(pipeline, Verdict::kInputBound, 0.96);
  analysis.findings = {
      {"sequential-map",
       Severity::kWarning,
       {"map"},
       "map runs one call at a time",
       "80 ms of its period",
       30,
       ".map(decode, num_parallel_calls=4)"},
      {"no-prefetch", Severity::kHint, {"batch"}, "nothing is prefetched", "", {}, ""}};
  const std::string text = render_text(analysis_view(pipeline, analysis), {});
  CHECK(text.find(R"(
Advice
  gain: over the program as traced, by this change alone
  1. map runs one call at a time
     evidence: 80 ms of its period
     gain:     +30/s
     python:   .map(decode, num_parallel_calls=4)
  2. nothing is prefetched
)") != std::string::npos);
}

TEST_CASE("The busiest node of the bottleneck stands out in table and graph") {
  const Pipeline pipeline = read_map_batch();
  const Analysis analysis = analysis_of(pipeline, Verdict::kInputBound, 0.96);
  const std::string dot = render_dot(analysis_view(pipeline, analysis));
  CHECK(dot.find("\"map\" [label=\"map (decode)\\n0 per root, 0 s each, 0 cores\", style=filled") !=
        std::string::npos);
  const std::string text = render_text(analysis_view(pipeline, analysis), {});
  CHECK(text.find(
            "  map    decode           0   0 s   0.00         -  A      0 B      -  limits\n") !=
        std::string::npos);
}

TEST_CASE("What a node without counters takes is unknown, not nothing") {
  Pipeline pipeline = read_map_batch();
  pipeline.nodes[1].aligned = false;
  const Analysis analysis = analysis_of(pipeline, Verdict::kInputBound, 0.96);
  const Report report = analysis_view(pipeline, analysis);
  CHECK(
      render_text(report, {})
          .find("  map    decode           0     -      -         -  A        -      -  limits, no "
                "counters\n") != std::string::npos);
  CHECK(render_json(report).find("\"service_s\": null") != std::string::npos);
  CHECK(render_dot(report).find("map (decode)\\n0 per root, no counters") != std::string::npos);
}
