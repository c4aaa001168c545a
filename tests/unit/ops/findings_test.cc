// SPDX-License-Identifier: Apache-2.0
#include "ops/findings.h"

#include <fmt/format.h>

#include "catch2_any.h"
#include "counted_analysis.h"
#include "function_facts_of.h"
#include "pipeline_builder.h"

using namespace plumber;

namespace {

// The findings of that id, whole: "warning: text [evidence] (+gain) python"; "none".
std::string finding(const Pipeline& p, const std::string& id) {
  std::string text;
  for (const Finding& f : findings(p, analysis_of(p))) {
    if (f.id != id) continue;
    text += f.severity == Severity::kWarning ? "warning: " : "hint: ";
    text += fmt::format("{} [{}]", f.text, f.evidence);
    if (f.gain_per_s) text += fmt::format(" (+{:.1f})", *f.gain_per_s);
    if (!f.python.empty()) text += " " + f.python;
    text += "\n";
  }
  return text.empty() ? "none" : text;
}

}  // namespace

TEST_CASE("finding: a random function below a cache") {
  const auto program = [](FunctionFacts facts) {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(8);
    b.add("flip", "MapDataset", {"range"}).function(std::move(facts), "_flip");
    b.add("cache", "CacheDatasetV2", {"flip"});
    return finding(b.build(), "augmentation-frozen");
  };
  CHECK(
      program(random_facts()) ==
      "warning: cache (CacheDatasetV2) keeps what flip (MapDataset) made in the first epoch: every "
      "later epoch repeats it [flip (MapDataset) calls RandomUniform in its function '_flip'] "
      ".cache()  # before .map(_flip)\n");
  CHECK(program({}) == "none");
}

TEST_CASE("finding: a shuffled order that a cache keeps") {
  const auto program = [](bool shuffle_above) {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(8);
    b.add("mix", "ShuffleDatasetV3", {"range"}).buffer(8);
    b.add("cache", "CacheDatasetV2", {"mix"});
    if (shuffle_above) b.add("again", "ShuffleDatasetV3", {"cache"}).buffer(8);
    return finding(b.build(), "order-frozen");
  };
  CHECK(program(false) ==
        "warning: cache (CacheDatasetV2) keeps the order of the first epoch: no shuffle above it "
        "draws "
        "a new one [mix (ShuffleDatasetV3) reshuffles in each epoch] .cache()  # before "
        ".shuffle(8)\n");
  CHECK(program(true) == "none");
}

TEST_CASE("finding: a take above a cache throws it away") {
  const auto program = [](std::int64_t take) {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(80);
    b.add("cache", "CacheDatasetV2", {"range"});
    b.add("take", "TakeDataset", {"cache"}).count(take);
    b.add("epochs", "RepeatDataset", {"take"}).count(-1);
    return finding(b.build(), "cache-discarded");
  };
  CHECK(program(10) ==
        "hint: take (TakeDataset) above cache (CacheDatasetV2) may not read it to its end; "
        "TensorFlow then throws the cache away and fills it anew in each epoch [take (TakeDataset) "
        "takes 10] .take(10).cache()\n");
  CHECK(program(80) == "none");
}

TEST_CASE("finding: a cache of file names") {
  const auto program = [](bool on_names) {
    PipelineBuilder b;
    b.add("files", "TensorSliceDataset").source(4).counts(4, 30);
    if (on_names) b.add("names", "CacheDatasetV2", {"files"}).counts(4, 30);
    b.add("read>file", "TFRecordDataset");
    b.add("read", "InterleaveDataset", {on_names ? "names" : "files"}).holds("read>file");
    if (!on_names) b.add("records", "CacheDatasetV2", {"read"});
    return finding(b.build(), "cache-of-names");
  };
  CHECK(program(true) ==
        "hint: names (CacheDatasetV2) keeps only the list that read (InterleaveDataset) reads "
        "from: "
        "nothing is read or decoded less often [the whole list is 120 B] .cache()  # after "
        ".interleave(...)\n");
  CHECK(program(false) == "none");
}

TEST_CASE("finding: a trace that began after the cache was full") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(8);
  b.add("cache", "CacheDatasetV2", {"range"}).counts(500);
  CHECK(
      finding(b.build(), "cache-producers-gone") ==
      "warning: the trace began after cache (CacheDatasetV2) was full: what lies below it has no "
      "counters, so its costs and sizes are unknown [500 elements out of the cache, none into it] "
      "# trace from the first epoch on\n");
}

TEST_CASE("finding: a shuffle of large elements that holds the whole epoch") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(1000, 1024);
  b.add("decode", "MapDataset", {"range"}).function({}, "_decode").counts(1000, 1 << 20);
  b.add("mix", "ShuffleDatasetV3", {"decode"}).buffer(5000).counts(1000, 1 << 20);
  const Pipeline p = b.build();
  CHECK(
      finding(p, "shuffle-whole-epoch") ==
      "hint: mix (ShuffleDatasetV3) holds the whole epoch, and twice that while one epoch follows "
      "another [buffer 5000 for 1000 elements an epoch: 1000 MiB] .shuffle(N)  # with a smaller N, "
      "or "
      "below what makes elements large\n");
  CHECK(
      finding(p, "shuffle-after-growth") ==
      "hint: mix (ShuffleDatasetV3) holds elements of 1 MiB; right above range (RangeDataset) they "
      "are 1 KiB [1000 MiB now, 1000 KiB there] .shuffle(5000)  # right after "
      "tf.data.Dataset.range(...)\n");
}

TEST_CASE("finding: batches of batches, and batches taken apart") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000);
  b.add("small", "BatchDatasetV2", {"range"}).count(2);
  b.add("ahead", "PrefetchDataset", {"small"}).buffer(1);
  b.add("large", "BatchDatasetV2", {"ahead"}).count(8);
  b.add("apart", "UnbatchDataset", {"large"});
  const Pipeline p = b.build();
  CHECK(
      finding(p, "batch-of-batch") ==
      "warning: large (BatchDatasetV2) makes batches of the batches of small (BatchDatasetV2) [an "
      "element is [8, 2, ...]] # without .batch(8)\n");
  CHECK(finding(p, "unbatch-of-batch") ==
        "hint: apart (UnbatchDataset) takes apart the batches of large (BatchDatasetV2) [both take "
        "0 % "
        "of the time a root element takes] .rebatch(N)  # for batches of another "
        "size, in place of .unbatch()\n");
}

TEST_CASE("finding: ops of old programs") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000);
  b.add("a", "BatchDataset", {"range"}).count(2);
  b.add("b", "ExperimentalUnbatchDataset", {"a"});
  b.add("c", "BatchDataset", {"b"}).count(2);
  CHECK(finding(b.build(), "legacy-op").find("[BatchDataset, ExperimentalUnbatchDataset]") !=
        std::string::npos);
}

TEST_CASE("finding: the sequential map that limits the rate, with its gain") {
  PipelineBuilder b;  // 10 ms of map a root element, four cores
  b.add("range", "RangeDataset").source(1000).counts(100);
  b.add("decode", "MapDataset", {"range"}).function({}, "_decode").counts(100, 8, 1.0);
  b.add("ahead", "PrefetchDataset", {"decode"}).buffer(2).counts(100, 8);
  const std::string text = finding(b.build(), "sequential-op");
  CHECK(text.starts_with(
      "hint: decode (MapDataset) runs one call at a time on the thread that limits "
      "the rate [10 ms of work a root element, 9"));
  CHECK(text.find("(+2") != std::string::npos);  // about 100/s more cores: four times the rate
  CHECK(text.ends_with(" .map(_decode, num_parallel_calls=4)\n"));
}

TEST_CASE("finding: a parallel op with too few calls, or with all the cores") {
  const auto program = [](std::int64_t calls) {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(1000).counts(100);
    b.add("decode", "ParallelMapDatasetV2", {"range"})
        .parallelism(calls)
        .function({}, "_decode")
        .counts(100, 8, 1.0);
    return b.build();
  };
  const std::string few = finding(program(1), "few-calls");
  CHECK(
      few.starts_with("hint: decode (ParallelMapDatasetV2) has 1 call in flight on 4 cores "
                      "[10 ms of work a root element in 1 call: "));
  CHECK(few.ends_with(" .map(_decode, num_parallel_calls=4)\n"));
  CHECK(finding(program(1), "cores-busy") == "none");
  CHECK(finding(program(8), "few-calls") == "none");
  CHECK(finding(program(8), "cores-busy")
            .starts_with(
                "hint: the 4 cores are busy: more threads cannot help, only less work in "
                "decode (ParallelMapDatasetV2) or more cores [10 ms of CPU a root element, "));
}

TEST_CASE("finding: Python functions under their lock") {
  FunctionFacts python;
  python.python = {"PyFunc"};
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(100);
  b.add("np", "ParallelMapDatasetV2", {"range"})
      .parallelism(4)
      .function(python, "_np")
      .counts(100, 8, 1.0);
  CHECK(
      finding(b.build(), "python-lock") ==
      "warning: Python functions run one at a time under Python's lock: num_parallel_calls cannot "
      "help them, nor more cores [10 ms under the lock a root element: at most 100/s] (+251.4) "
      "# write the "
      "function in TensorFlow ops, or prepare its results once in files\n");
  CHECK(finding(b.build(), "sequential-op") == "none");
}

TEST_CASE("finding: hand-off dominates pipelines of tiny elements") {
  PipelineBuilder b;  // 128 calls of 1 us for each batch
  b.add("range", "RangeDataset").source(100000).counts(12800);
  b.add("tiny", "MapDataset", {"range"}).function({}, "_tiny").counts(12800, 8, 12800 * 1e-6);
  b.add("batch", "BatchDatasetV2", {"tiny"}).count(128).counts(100, 1024);
  const std::string text = finding(b.build(), "per-element-overhead");
  CHECK(text.find("[128 calls a root element, 9") != std::string::npos);
  CHECK(text.find("(+") != std::string::npos);
}

TEST_CASE("finding: no prefetch at the root while the consumer works") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(100, 8, 0);
  b.add("batch", "BatchDatasetV2", {"range"}).count(1).counts(100, 8, 1.0);
  const Pipeline p = b.build();
  Analysis a = analysis_of(p);
  a.costs.think_time_s = 10e-3;
  const auto found = findings(p, a);
  const auto missing = std::ranges::find(found, "prefetch-missing", &Finding::id);
  REQUIRE(missing != found.end());
  CHECK(missing->evidence == "the consumer takes 10 ms of 20 ms a root element");
  CHECK(*missing->gain_per_s == Approx(50).epsilon(0.05));
}

TEST_CASE("most gain comes first, then the gravest") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(100);
  b.add("old", "BatchDataset", {"range"}).count(1).counts(100);
  b.add("decode", "MapDataset", {"old"}).function(random_facts(), "_decode").counts(100, 8, 1.0);
  b.add("cache", "CacheDatasetV2", {"decode"}).counts(100, 8);
  b.add("ahead", "PrefetchDataset", {"cache"}).buffer(2).counts(100, 8);
  const Pipeline p = b.build();
  Analysis a = analysis_of(p);
  a.setting[*find_node(p, "cache")].cached = false;  // not filled yet
  std::vector<std::string> ids;
  for (const Finding& f : findings(p, a)) ids.push_back(f.id);
  CHECK(ids == std::vector<std::string>{"sequential-op", "augmentation-frozen", "legacy-op"});
}

TEST_CASE("finding: a shard above a costly map") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(4000).counts(4000, 8);
  b.add("decode", "MapDataset", {"range"}).function({}, "decode").counts(4000, 8, 0.8);
  b.add("shard", "ShardDataset", {"decode"}).count(4).counts(1000, 8);
  const std::string found = finding(b.build(), "late-choice");
  CHECK(found.starts_with("warning: "));
  CHECK(found.find("throws away elements that") != std::string::npos);
  CHECK(found.ends_with(".shard(4, ...)  # before .map(decode)\n"));
}

TEST_CASE("finding: parallel readers of one file") {
  PipelineBuilder b;
  b.add("names", "TensorSliceDataset").source(1).counts(1, 20);
  b.add("read>file", "TFRecordDataset").counts(100, 10);
  b.add("read", "ParallelInterleaveDatasetV4", {"names"})
      .holds("read>file")
      .cycle(8)
      .counts(100, 9);
  CHECK(finding(b.build(), "one-file") != "none");
}

TEST_CASE("finding: a parallel map with calls far above the cores") {
  const auto with = [](int calls) {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(4000).counts(4000, 8);
    b.add("decode", "ParallelMapDatasetV2", {"range"})
        .function({}, "decode")
        .parallelism(calls)
        .counts(4000, 8, 4);
    return finding(b.build(), "many-calls");
  };
  CHECK(with(8) == "none");
  CHECK(with(60) != "none");
}

TEST_CASE("finding: groups of an endless input") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(40).counts(400, 8);
  b.add("repeat", "RepeatDataset", {"range"}).count(-1).counts(400, 8);
  b.add("group", "GroupByWindowDataset", {"repeat"}).counts(40, 80);
  CHECK(finding(b.build(), "group-over-repeat") != "none");
}
