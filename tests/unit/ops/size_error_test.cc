// SPDX-License-Identifier: Apache-2.0
#include "ops/size_error.h"

#include <cmath>
#include <random>

#include "catch2_any.h"
#include "ops/analysis.h"
#include "pipeline_builder.h"

using namespace plumber;

namespace {

// 1,024 files of 600 to 1,800 records of 50 to 250 bytes, of which `files_read` were read.
struct Corpus {
  double records = 0, payload = 0;
  Pipeline trace;
};

Corpus corpus(int files_read) {
  std::mt19937 dice(7);
  std::uniform_int_distribution<int> records_of(600, 1800), bytes_of(50, 250);
  Corpus c;
  double seen = 0, seen_bytes = 0;
  std::vector<std::string> names;
  std::map<std::string, double> sizes;
  for (int file = 0; file < 1024; ++file) {
    const int records = records_of(dice);
    double payload = 0;
    for (int i = 0; i < records; ++i) payload += bytes_of(dice);
    names.push_back("f" + std::to_string(file));
    sizes[names.back()] = payload + 16.0 * records;
    c.records += records, c.payload += payload;
    if (file < files_read) seen += records, seen_bytes += payload;
  }
  PipelineBuilder b;
  const double element = seen_bytes / seen + 24;  // a string's header
  b.add("names", "TensorSliceDataset").files(names).counts(files_read, 20);
  b.add("read>file", "TFRecordDataset").counts(seen, element);
  b.add("read", "InterleaveDataset", {"names"}).holds("read>file").cycle(1).counts(seen, element);
  b.add("decode", "MapDataset", {"read"}).counts(seen, 10 * element);
  c.trace = b.build();
  c.trace.file_bytes = sizes;
  return c;
}

}  // namespace

TEST_CASE("one per cent of the files tells the size within one per cent, and says so") {
  const Corpus c = corpus(10);
  const Analysis a = analyze(c.trace, {});
  const auto& read = a.nodes[*find_node(c.trace, "read")];
  const auto& decoded = a.nodes[*find_node(c.trace, "decode")];
  CHECK(std::abs(read.elements_per_epoch.elements / c.records - 1) < 0.01);
  const double known = c.payload + 24 * c.records;
  CHECK(std::abs(*read.materialized_bytes / known - 1) < 0.01);
  CHECK(std::abs(*decoded.materialized_bytes / (10 * known) - 1) < 0.01);
  CHECK(*read.materialized_error_bytes < 0.011 * known);
  CHECK(*decoded.materialized_error_bytes < 0.03 * 10 * known);
}

TEST_CASE("what the program fixes has no error, and more files less of it") {
  PipelineBuilder b;
  b.add("range", "RangeDataset").source(100).counts(40, 8);
  b.add("filter", "FilterDataset", {"range"}).counts(10, 8);
  b.add("batch", "BatchDatasetV2", {"filter"}).count(5).counts(2, 40);
  const Pipeline p = b.build();
  const Analysis a = analyze(p, {});
  CHECK(a.nodes[*find_node(p, "range")].elements_error == 0);
  // 25 of an epoch: 60 % unseen, a ratio of 1/4 of 10 elements: 2 sqrt(0.6 * 0.75 / 10).
  CHECK(std::abs(*a.nodes[*find_node(p, "filter")].elements_error - 25 * 0.424264) < 1e-3);

  const auto error = [](int files) {
    const Corpus c = corpus(files);
    const Analysis all = analyze(c.trace, {});
    return *all.nodes[*find_node(c.trace, "decode")].elements_error;
  };
  CHECK(error(100) < error(10));
  CHECK(error(1024) < 0.01 * error(10));
}
