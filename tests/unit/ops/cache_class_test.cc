// SPDX-License-Identifier: Apache-2.0
#include "ops/cache_class.h"

#include "catch2_any.h"
#include "function_facts_of.h"
#include "ops/cardinality.h"
#include "pipeline_builder.h"

using namespace plumber;

namespace {

// "exact, legal: ..." or "content, no (pyfunc-cache): ...".
std::string judged(const Pipeline& p, const std::string& name) {
  const auto verdicts = cache_verdicts(p, elements_per_epoch(p, counted_visits(p)));
  const CacheVerdict& v = verdicts[find_node(p, name).value()];
  std::string text = v.cache_class == CacheClass::kExact   ? "exact"
                     : v.cache_class == CacheClass::kOrder ? "order"
                                                           : "content";
  text += v.legal ? ", legal" : ", no";
  if (!v.allow.empty()) text += " (" + v.allow + ")";
  return text + ": " + v.reason;
}

// range 8 -> decode -> crop at random -> shuffle 4 -> forever -> batch 2
PipelineBuilder training() {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(8);
  b.add("decode", "MapDataset", {"range"}).function({}, "_decode");
  b.add("crop", "MapDataset", {"decode"}).function(random_facts(), "_crop");
  b.add("shuffle", "ShuffleDatasetV3", {"crop"}).buffer(4);
  b.add("forever", "RepeatDataset", {"shuffle"}).count(-1);
  b.add("batch", "BatchDatasetV2", {"forever"}).count(2);
  return b;
}

}  // namespace

TEST_CASE("exact up to the first random function, content from there on") {
  const Pipeline p = training().build();
  CHECK(judged(p, "decode") == "exact, legal: nothing below it changes from epoch to epoch");
  const std::string crop =
      "content, no: crop (MapDataset) calls RandomUniform in its function '_crop': with a cache, "
      "later epochs would repeat the first";
  CHECK(judged(p, "crop") == crop);
  CHECK(judged(p, "shuffle") == crop);
  CHECK(judged(p, "batch") == "content, no: forever (RepeatDataset) makes it endless");
}

TEST_CASE("a Python function may be cached when it is allowed") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(8);
  b.add("map", "MapDataset", {"range"}).function(python_facts(), "_np");
  b.add("batch", "BatchDatasetV2", {"map"}).count(2);
  CHECK(
      judged(b.build(), "batch") ==
      "content, no (pyfunc-cache): map (MapDataset) calls PyFunc in its function '_np': may return "
      "something else each time");
}

TEST_CASE("where all orders come of seeds, another order below makes another one above") {
  const auto read = [](bool low, bool high) {
    PipelineBuilder b;
    b.add("files", "TensorSliceDataset").source(4);
    b.add("order", "ShuffleDatasetV3", {"files"}).buffer(4).seed(low);
    b.add("map", "MapDataset", {"order"}).function({});
    b.add("mix", "ShuffleDatasetV3", {"map"}).buffer(100).seed(high);
    return judged(b.build(), "map");
  };
  CHECK(read(true, true) ==
        "order, no (frozen-order): order (ShuffleDatasetV3) reshuffles in each epoch: its order of "
        "the first epoch would stay, and the seed of mix (ShuffleDatasetV3) above would make "
        "another order of it");
  CHECK(read(true, false).starts_with("order, legal: "));
  CHECK(read(false, true).starts_with("order, legal: "));
}

TEST_CASE("a changing order needs a reshuffling shuffle above") {
  const auto read = [](bool shuffle, bool reshuffles) {
    PipelineBuilder b;
    b.add("files", "TensorSliceDataset").source(4);
    b.add("order", "ShuffleDatasetV3", {"files"}).buffer(4);
    b.add("map", "MapDataset", {"order"}).function({});
    if (!shuffle) return judged(b.build(), "map");
    auto above = b.add("mix", "ShuffleDatasetV3", {"map"}).buffer(100);
    if (!reshuffles) above.shuffles_once();
    return judged(b.build(), "map");
  };
  CHECK(read(true, true) ==
        "order, legal: order (ShuffleDatasetV3) reshuffles in each epoch: its order of the first "
        "epoch "
        "stays, and mix (ShuffleDatasetV3) above still shuffles, a buffer of 100");
  const std::string frozen =
      "order, no (frozen-order): order (ShuffleDatasetV3) reshuffles in each epoch: its order of "
      "the "
      "first epoch would stay, and no shuffle stands above";
  CHECK(read(false, false) == frozen);
  CHECK(read(true, false) == frozen);
}

TEST_CASE("batches over a changing order freeze who goes with whom") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(8);
  b.add("low", "ShuffleDatasetV3", {"range"}).buffer(8);
  b.add("batch", "BatchDatasetV2", {"low"}).count(2);
  b.add("high", "ShuffleDatasetV3", {"batch"}).buffer(8);
  CHECK(
      judged(b.build(), "batch") ==
      "order, no (frozen-order): batch (BatchDatasetV2) puts elements together by an order that "
      "changes, as low (ShuffleDatasetV3) reshuffles in each epoch: the same groups would come in "
      "every epoch");
}

TEST_CASE("what chooses by a changing order changes the content") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(8);
  b.add("low", "ShuffleDatasetV3", {"range"}).buffer(8);
  b.add("shard", "ShardDataset", {"low"}).count(2);
  CHECK(judged(b.build(), "shard") ==
        "content, no: shard (ShardDataset) chooses elements by an order that changes, as low "
        "(ShuffleDatasetV3) reshuffles in each epoch: with a cache, later epochs would repeat the "
        "first");
}

TEST_CASE("a cache makes what lies below it exact, and covers it") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(8);
  b.add("crop", "MapDataset", {"range"}).function(random_facts());
  b.add("cache", "CacheDatasetV2", {"crop"});
  b.add("map", "MapDataset", {"cache"}).function({});
  const Pipeline p = b.build();
  CHECK(judged(p, "map") == "exact, legal: nothing below it changes from epoch to epoch");
  CHECK(judged(p, "cache") == "exact, no: it is a cache already");
  CHECK(judged(p, "crop") ==
        "content, no: cache (CacheDatasetV2) above it keeps its elements already");
}

TEST_CASE("a cache of the program that is read in part is never filled: what lies below goes on") {
  const auto above_take = [](std::int64_t count) {
    PipelineBuilder b;
    b.add("files", "TensorSliceDataset").source(20);
    b.add("mix", "ShuffleDatasetV3", {"files"}).buffer(20).seed(true);
    b.add("cache", "CacheDatasetV2", {"mix"});
    b.add("take", "TakeDataset", {"cache"}).count(count);
    return judged(b.build(), "take");
  };
  CHECK(above_take(20).starts_with("exact, legal"));
  CHECK(above_take(7).starts_with("content, no"));
}

TEST_CASE("a cache must be read to its end in each epoch") {
  const auto under = [](std::int64_t take, std::int64_t partner, bool repeat_first) {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(8);
    b.add("map", "MapDataset", {"range"}).function({});
    b.add("other", "RangeDataset").source(partner);
    b.add("zip", "ZipDataset", {"map", "other"});
    const char* top = "zip";
    if (repeat_first) b.add("epochs", "RepeatDataset", {"zip"}).count(-1), top = "epochs";
    b.add("take", "TakeDataset", {top}).count(take);
    return judged(b.build(), "map");
  };
  const std::string fine = "exact, legal: nothing below it changes from epoch to epoch";
  CHECK(under(-1, 8, false) == fine);
  CHECK(under(8, 9, false) == fine);
  CHECK(under(5, 8, true) == fine);  // the take stands above the repeat
  CHECK(under(5, 8, false) ==
        "exact, no: take (TakeDataset) above it may not read it to its end; then TensorFlow throws "
        "the "
        "cache away");
  CHECK(
      under(-1, 7, false) ==
      "exact, no: zip (ZipDataset) above it may not read it to its end; then TensorFlow throws the "
      "cache away");
}

TEST_CASE("inside a function no cache can stand, and its randomness reaches the outer node") {
  PipelineBuilder b;
  b.add("files", "TensorSliceDataset").source(4);
  b.add("read>file", "TFRecordDataset").counts(8);
  b.add("read>crop", "MapDataset", {"read>file"}).function(random_facts(), "_crop").counts(8);
  b.add("read", "InterleaveDataset", {"files"}).holds("read>crop").counts(8);
  const Pipeline p = b.build();
  CHECK(
      judged(p, "read>file") ==
      "exact, no: it is inside a function of read (InterleaveDataset), which makes a new data set "
      "each time");
  CHECK(judged(p, "read").starts_with("content, no: "));
}

TEST_CASE("reads of variables are exact unless the program writes one") {
  FunctionFacts reads, writes;
  reads.state_reads = {"ReadVariableOp"};
  writes.stateful = {"AssignAddVariableOp"};
  const auto program = [&](bool with_write) {
    PipelineBuilder b;
    b.add("range", "RangeDataset").source(8);
    b.add("scale", "MapDataset", {"range"}).function(reads, "_scale");
    b.add("count", "MapDataset", {"scale"})
        .function(with_write ? writes : FunctionFacts{}, "_count");
    return judged(b.build(), "scale");
  };
  CHECK(program(false) == "exact, legal: nothing below it changes from epoch to epoch");
  CHECK(program(true) ==
        "content, no: scale (MapDataset) calls ReadVariableOp in its function '_scale' while the "
        "program writes variables or tables: with a cache, later epochs would repeat the first");
}

TEST_CASE("a mixture by chance changes the order, and the content if it stops early") {
  const auto mixture = [](bool stops) {
    PipelineBuilder b;
    b.add("chance", "RandomDataset").counts(10);
    b.add("a", "RangeDataset").source(5).counts(5);
    b.add("b", "RangeDataset").source(5).counts(5);
    auto mix = b.add("mix", "DirectedInterleaveDataset", {"chance", "a", "b"}).counts(10);
    if (stops) mix.stop_on_empty();
    return judged(b.build(), "mix");
  };
  CHECK(
      mixture(false).starts_with("order, no (frozen-order): chance (RandomDataset) draws numbers"));
  CHECK(mixture(true).starts_with("content, no: mix (DirectedInterleaveDataset) chooses elements"));
}
