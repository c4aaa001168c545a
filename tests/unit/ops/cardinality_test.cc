// SPDX-License-Identifier: Apache-2.0
#include "ops/cardinality.h"

#include <fmt/format.h>

#include "catch2_any.h"
#include "pipeline_builder.h"

using namespace plumber;

namespace {

std::string text(const Cardinality& c) {
  switch (c.kind) {
    case Cardinality::Kind::kUnknown:
      return "?";
    case Cardinality::Kind::kInfinite:
      return "inf";
    case Cardinality::Kind::kKnown:
      break;
  }
  return fmt::format("{:.9g}", c.elements);
}

// "range 10, take 5, ...": every node and its elements of one epoch.
std::string epochs(const Pipeline& p) {
  const auto elements = elements_per_epoch(p, counted_visits(p));
  std::string all;
  for (std::size_t i = 0; i < p.size(); ++i)
    all += (i ? ", " : "") + p.nodes[i].name + " " + text(elements[static_cast<NodeId>(i)]);
  return all;
}

}  // namespace

TEST_CASE("the program tells what it can") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(103);
  b.add("take", "TakeDataset", {"range"}).count(50);
  b.add("skip", "SkipDataset", {"take"}).count(8);
  b.add("shard", "ShardDataset", {"skip"}).count(4);
  b.add("batch", "BatchDatasetV2", {"shard"}).count(2).drop_remainder();
  b.add("last", "BatchDatasetV2", {"batch"}).count(2);
  b.add("thrice", "RepeatDataset", {"last"}).count(3);
  b.add("forever", "RepeatDataset", {"thrice"}).count(-1);
  b.add("prefetch", "PrefetchDataset", {"forever"}).buffer(2);
  b.add("some", "TakeDataset", {"prefetch"}).count(7);
  CHECK(epochs(b.build()) ==
        "range 103, take 50, skip 42, shard 11, batch 5, last 3, thrice 9, forever inf, prefetch "
        "inf, "
        "some 7");
}

TEST_CASE("several inputs: zip takes the shortest, concatenate the sum") {
  PipelineBuilder b;
  b.add("a", "RangeDataset").source(10);
  b.add("b", "RangeDataset").source(4);
  b.add("endless", "RepeatDataset", {"b"}).count(-1);
  b.add("zip", "ZipDataset", {"a", "endless"});
  b.add("both", "ConcatenateDataset", {"zip", "b"});
  CHECK(epochs(b.build()) == "a 10, b 4, endless inf, zip 10, both 14");
}

TEST_CASE("a mixture ends with its last input, or with its first if told to") {
  const auto mixture = [](bool stops) {
    PipelineBuilder b;
    b.add("choice", "RandomDataset").counts(40);
    b.add("a", "RangeDataset").source(90).counts(30);
    b.add("b", "RangeDataset").source(10).counts(10);
    auto mix = b.add("mix", "DirectedInterleaveDataset", {"choice", "a", "b"}).counts(40);
    if (stops) mix.stop_on_empty();
    return epochs(b.build());
  };
  CHECK(mixture(false) == "choice inf, a 90, b 10, mix 100");
  CHECK(mixture(true) == "choice inf, a 90, b 10, mix 40");
}

TEST_CASE("ratios that the program does not fix are measured") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000).counts(200);
  b.add("filter", "FilterDataset", {"range"}).counts(50);
  b.add("flat", "UnbatchDataset", {"filter"}).counts(150);
  CHECK(epochs(b.build()) == "range 1000, filter 250, flat 750");
}

TEST_CASE("without counts a measured ratio is unknown") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(1000);
  b.add("filter", "FilterDataset", {"range"});
  b.add("batch", "BatchDatasetV2", {"filter"}).count(2);
  CHECK(epochs(b.build()) == "range 1000, filter ?, batch ?");
}

TEST_CASE("records by the bytes of files that were read to their end") {
  PipelineBuilder b;  // 2 of 4 files read, a third one half
  b.add("files", "TensorSliceDataset").files({"a", "b", "c", "d"}).counts(3);
  b.add("read>file", "TFRecordDataset").counts(25, 100).reads(2500);
  b.add("read", "InterleaveDataset", {"files"}).holds("read>file").cycle(2).counts(25, 100);
  Pipeline p = b.build(Dialect::kOpstats);
  p.file_bytes = {{"a", 1200}, {"b", 800}};
  p.file_bytes_are_completed_only = true;
  CHECK(epochs(p) == "files 4, read>file 40, read 40");
}

TEST_CASE("records by the bytes of all files, framing and string header taken into account") {
  PipelineBuilder b;  // records of 84 bytes: 100 in the file, 108 counted
  b.add("files", "TensorSliceDataset").files({"a", "b"});
  b.add("read>list", "TensorSliceDataset").counts(1);
  b.add("read>flat>file", "TFRecordDataset").counts(1000, 108);
  b.add("read>flat", "FlatMapDataset", {"read>list"}).holds("read>flat>file").counts(1000, 108);
  b.add("read", "InterleaveDataset", {"files"}).holds("read>flat").counts(1000, 108);
  b.add("few", "TakeDataset", {"read"}).count(1500).counts(1000, 108);
  Pipeline p = b.build();
  p.file_bytes = {{"a", 120000}, {"b", 80000}};
  CHECK(epochs(p) ==
        "files 2, read>list 2, read>flat>file 2000, read>flat 2000, read 2000, few 1500");
  p[*find_node(p, "read>flat>file")].compressed = true;
  CHECK(epochs(p) == "files 2, read>list ?, read>flat>file ?, read>flat ?, read ?, few ?");
}

TEST_CASE("without sizes, records by the files opened, open ones counting half") {
  PipelineBuilder b;  // 16 files of 100 records; 5 epochs, 16 files open in the last
  b.add("files", "TensorSliceDataset").source(16).counts(80);
  b.add("read>file", "TFRecordDataset").counts(7200);
  b.add("read", "ParallelInterleaveDatasetV4", {"files"}).holds("read>file").cycle(16).counts(7200);
  b.add("epochs", "RepeatDataset", {"read"}).count(-1).counts(7200);
  CHECK(epochs(b.build()) == "files 16, read>file 1600, read 1600, epochs inf");
}

TEST_CASE("a file that was never read to its end tells nothing") {
  PipelineBuilder b;
  b.add("one", "TensorDataset").source(1).counts(1);
  b.add("rows>generator", "GeneratorDataset").counts(500);
  b.add("rows", "FlatMapDataset", {"one"}).holds("rows>generator").counts(500);
  CHECK(epochs(b.build()) == "one 1, rows>generator ?, rows ?");
}

TEST_CASE("what fills a cache was read to its end once the cache replays") {
  PipelineBuilder b;
  b.add("files", "TensorSliceDataset").source(4).counts(4);
  b.add("read>file", "TFRecordDataset").counts(400);
  b.add("read", "InterleaveDataset", {"files"}).holds("read>file").cycle(4).counts(400);
  b.add("cache", "CacheDatasetV2", {"read"}).counts(900);
  b.add("epochs", "RepeatDataset", {"cache"}).count(-1).counts(900);
  Pipeline p = b.build();
  PerNode<double> visits(p.size(), 1);  // below a cache: as in the first epoch
  visits[*find_node(p, "files")] = 0.01;
  CHECK(elements_per_epoch(p, visits)[*find_node(p, "cache")] ==
        Cardinality{Cardinality::Kind::kKnown, 400});
}

TEST_CASE("a function that repeats its data set for ever never ends") {
  PipelineBuilder b;
  b.add("files", "TensorSliceDataset").source(4);
  b.add("read>file", "TFRecordDataset");
  b.add("read>again", "RepeatDataset", {"read>file"}).count(-1);
  b.add("read", "InterleaveDataset", {"files"}).holds("read>again");
  CHECK(epochs(b.build()) == "files 4, read>file inf, read>again inf, read inf");
}

TEST_CASE("what ends by its own choice, a part of a pass does not tell") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(600).counts(500);
  b.add("until", "TakeWhileDataset", {"range"}).counts(499);
  b.add("unique", "UniqueDataset", {"range"}).counts(40);
  b.add("both", "ConcatenateDataset", {"until", "unique"}).counts(539);
  CHECK(epochs(b.build()) == "range 600, until ?, unique ?, both ?");
}

TEST_CASE("whole epochs tell what the program does not, down to what was gone at their end") {
  PipelineBuilder b;  // 10 epochs of 12 batches; the batch dropped what lies below it
  b.add("range", "RangeDataset").source(600).counts(300);
  b.add("until", "TakeWhileDataset", {"range"}).counts(300);
  b.add("map", "MapDataset", {"until"}).counts(300);
  b.add("batch", "BatchDatasetV2", {"map"}).count(2).counts(390);
  b.add("few", "TakeDataset", {"batch"}).count(50).counts(395).ends(10, 390);
  b.add("skip", "SkipDataset", {"few"}).count(27).counts(125).ends(10, 120);
  b.epochs(10, 120);
  CHECK(epochs(b.build()) == "range 600, until 78, map 78, batch 39, few 39, skip 12");
}

TEST_CASE("below a batch an estimate is held to what was counted") {
  const auto filtered = [](double out) {
    PipelineBuilder b;  // epochs of 4 batches of at most 25
    b.add("range", "RangeDataset").source(300).counts(300);
    b.add("filter", "FilterDataset", {"range"}).counts(out);
    b.add("batch", "BatchDatasetV2", {"filter"}).count(25).counts(8);
    b.epochs(2, 8);
    return epochs(b.build());
  };
  CHECK(filtered(90) == "range 300, filter 90, batch 4");
  CHECK(filtered(105) == "range 300, filter 100, batch 4");
  CHECK(filtered(150) == "range 300, filter ?, batch 4");  // no estimate at all
}

TEST_CASE("an end above a zip or a take says nothing of what they leave unread") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").counts(80);
  b.add("filter", "FilterDataset", {"range"}).counts(40).ends(2, 40);
  b.add("short", "RangeDataset").source(20).counts(40);
  b.add("zip", "ZipDataset", {"filter", "short"}).counts(40).ends(2, 40);
  b.epochs(2, 40);
  CHECK(epochs(b.build()) == "range ?, filter ?, short 20, zip 20");
}

TEST_CASE("groups that are open are not counted: their ratio holds for many groups only") {
  const auto groups = [](double made) {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(1000).counts(10 * made);
    b.add("group>batch", "BatchDatasetV2").count(10).counts(made);
    b.add("group", "GroupByWindowDataset", {"range"}).holds("group>batch").counts(made);
    return epochs(b.build());
  };
  CHECK(groups(60) == "range 1000, group>batch 100, group 100");
  CHECK(groups(12) == "range 1000, group>batch ?, group ?");
}

TEST_CASE("windows start every shift elements") {
  const auto windows = [](std::int64_t shift, bool drops) {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(100);
    auto window = b.add("window", "WindowDataset", {"range"}).count(8);
    window.node().shift = shift;
    window.node().stride = 2;  // a window spans 15 elements
    window.node().drop_remainder = drops;
    return epochs(b.build());
  };
  CHECK(windows(8, false) == "range 100, window 13");
  CHECK(windows(30, false) == "range 100, window 4");
  CHECK(windows(1, true) == "range 100, window 86");
  CHECK(windows(30, true) == "range 100, window 3");
}

TEST_CASE("lists that were last seen half read stand beside the elements of that time") {
  PipelineBuilder b;  // 20 epochs of 4 files, seen after 3 on average, the third half read
  b.add("files", "TensorSliceDataset").source(4).counts(60).iterators(20, 500);
  b.add("read>file", "TFRecordDataset").counts(790);
  b.add("read", "FlatMapDataset", {"files"}).holds("read>file").counts(800).iterators(20);
  CHECK(epochs(b.build()) == "files 4, read>file 40, read 40");
}

TEST_CASE("materialised bytes are elements times bytes") {
  CHECK(materialized_bytes({Cardinality::Kind::kKnown, 50}, 4) == 200.0);
  CHECK(!materialized_bytes({Cardinality::Kind::kInfinite, 0}, 4));
  CHECK(!materialized_bytes({Cardinality::Kind::kKnown, 50}, 0));  // no element was counted
}
