// SPDX-License-Identifier: Apache-2.0
#include "pipeline/op_table.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "catch2_any.h"

using namespace plumber;

TEST_CASE("every dataset op of TensorFlow 2.21 has its line") {
  std::ifstream names(PLUMBER_TESTDATA_DIR "/ops/dataset_ops.txt");
  std::vector<std::string> unknown;
  int count = 0;
  for (std::string name; std::getline(names, name); ++count) {
    if (op_traits(name).op.empty()) unknown.push_back(name);
  }
  CHECK(unknown == std::vector<std::string>{});
  CHECK(count > 150);
}

TEST_CASE("the table is sorted and names no op twice") {
  CHECK(std::ranges::is_sorted(op_table(), std::ranges::less_equal(), &OpTraits::op));
}

TEST_CASE("an op that is not in the table is opaque, and a data set if its name says so") {
  CHECK(op_traits("MyDataset").op.empty());
  CHECK(op_traits("MyDataset").kind == Kind::kOpaque);
  CHECK(is_dataset_op("MyDataset"));
  CHECK(!is_dataset_op("MatMul"));
}

TEST_CASE("ops that only take a data set make none") {
  CHECK(!is_dataset_op("ReduceDataset"));
  CHECK(!is_dataset_op("DatasetCardinality"));
  CHECK(!is_dataset_op("ExperimentalIteratorGetDevice"));
  CHECK(is_dataset_op("OptionsDataset"));
  CHECK(is_dataset_op("UnwrapDatasetVariant"));
}

TEST_CASE("the experimental spelling shares the line") {
  CHECK(&op_traits("ExperimentalScanDataset") == &op_traits("ScanDataset"));
}

TEST_CASE("model names keep the version but where TensorFlow drops it") {
  CHECK(op_traits("BatchDatasetV2").model_name == "BatchV2");
  CHECK(op_traits("ParallelInterleaveDatasetV4").model_name == "ParallelInterleaveV4");
  CHECK(op_traits("ShuffleDatasetV3").model_name == "Shuffle");
  CHECK(op_traits("CSVDatasetV2").model_name == "CSV");
  CHECK(op_traits("TensorDataset").model_name == "FromTensor");
  CHECK(op_traits("OptionsDataset").model_name.empty());
}

TEST_CASE("scalar inputs are found behind captured arguments") {
  const OpTraits& map = op_traits("ParallelMapDatasetV2");
  CHECK(input_place(map.parallelism_input, 2) == 1);  // input, calls
  CHECK(input_place(map.parallelism_input, 4) == 3);  // input, two captured arguments, calls
  CHECK(input_place(map.count_input, 4) == -1);
  CHECK(input_place(op_traits("PaddedBatchDatasetV2").count_input, 7) == 1);
  CHECK(input_place(op_traits("MapAndBatchDataset").count_input, 4) == 1);
  CHECK(input_place(op_traits("ShuffleDatasetV3").buffer_input, 5) == 1);
  CHECK(input_place(op_traits("ShuffleDatasetV3").seed_input, 5) == 2);
  CHECK(input_place(-3, 2) == -1);
}

TEST_CASE("sources have no dataset input") {
  for (const OpTraits& traits : op_table()) {
    if (is_source(traits.kind)) CHECK(traits.dataset_inputs == 0);
  }
  CHECK(op_traits("ZipDataset").dataset_inputs == kInputsN);
  CHECK(op_traits("DirectedInterleaveDataset").dataset_inputs == kInputs1N);
}
