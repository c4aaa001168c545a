// SPDX-License-Identifier: Apache-2.0
#include "pipeline/python_call.h"

#include "catch2_any.h"

namespace plumber {
namespace {

Node node_of(const std::string& op, std::optional<std::int64_t> count = {}) {
  Node node;
  node.op = op;
  node.kind = op_traits(op).kind;
  node.count = count;
  return node;
}

Node with_function(Node node, const std::string& name) {
  node.function = Function{"", name, {}};
  return node;
}

TEST_CASE("calls as a user of TensorFlow writes them") {
  CHECK(python_call(node_of("TakeDataset", 7)) == ".take(7)");
  CHECK(python_call(node_of("RepeatDataset", -1)) == ".repeat()");
  CHECK(python_call(node_of("UniqueDataset")) == ".unique()");
  CHECK(python_call(node_of("SnapshotDatasetV2")) == ".snapshot(...)");
  CHECK(python_call(node_of("ExperimentalUniqueDataset")) == ".unique()");
  CHECK(python_call(node_of("AssertCardinalityDataset", 400)) ==
        ".apply(tf.data.experimental.assert_cardinality(400))");
  CHECK(python_call(with_function(node_of("MapDataset"), "lambda")) == ".map(...)");
  CHECK(python_call(with_function(node_of("ScanDataset"), "_sum")) == ".scan(..., _sum)");
  Node prefetch = node_of("PrefetchDataset");
  prefetch.buffer_size = kAutotune;
  CHECK(python_call(prefetch) == ".prefetch(tf.data.AUTOTUNE)");
  CHECK(python_call(node_of("AssertNextDataset")) == "AssertNextDataset");
}

TEST_CASE("calls in flight where Python has them") {
  const auto parallel = [](const Node& node) { return python_call_in_parallel(node, "4"); };
  CHECK(parallel(with_function(node_of("MapDataset"), "lambda")) ==
        ".map(..., num_parallel_calls=4)");
  CHECK(parallel(node_of("BatchDatasetV2", 32)) == ".batch(32, num_parallel_calls=4)");
  Node interleave = with_function(node_of("InterleaveDataset"), "Dataset_interleave");
  interleave.cycle_length = 8;
  CHECK(parallel(interleave) == ".interleave(..., cycle_length=8, num_parallel_calls=4)");
  CHECK(parallel(with_function(node_of("FilterDataset"), "_keep")) ==
        ".map(lambda x: (x, _keep(x)), num_parallel_calls=4).filter(lambda x, keep: keep)"
        ".map(lambda x, keep: x)");
  Node pairs = with_function(node_of("FilterDataset"), "_keep");
  pairs.components = 2;
  CHECK(parallel(pairs) == "");
  CHECK(parallel(with_function(node_of("FlatMapDataset"), "_read")) == "");
  CHECK(parallel(node_of("PaddedBatchDatasetV2", 32)) == "");
}

}  // namespace
}  // namespace plumber
