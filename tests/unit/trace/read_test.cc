// SPDX-License-Identifier: Apache-2.0
#include "trace/read.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include "base/error.h"
#include "catch2_any.h"
#include "trace.pb.h"

namespace plumber {
namespace {

const std::string kProgram = R"(
graph {
  node { name: "RangeDataset/_3" op: "RangeDataset" }
  node { name: "dataset" op: "_Retval" input: "RangeDataset/_3" }
}
stats { name: "RangeDataset/_3" aggregate_elements_produced: 10 aggregate_processing_time: 2000
        aggregate_processing_time_clock: 1000 parallelism: 1 }
machine_info { num_cores: 4 memory_total: 1000 }
iter_stats { avg_duration_us: 250 }
)";

// A trace that ran from start_s to now_s and used one second of CPU.
std::string trace_of(int start_s, int now_s, int elements = 10) {
  std::string program = kProgram;
  const std::string key = "aggregate_elements_produced: ";
  program.replace(program.find(key) + key.size(), 2, std::to_string(elements));
  return program + "snapshot_info { start_time: " + std::to_string(start_s) +
         "000000000 current_time: " + std::to_string(now_s) +
         "000000000 process_start_time: 5 process_current_time: 1000000005 }";
}
const std::string kTrace = trace_of(1, 3);

std::string binary(const std::string& text) {
  trace::PipelineSnapshot snapshot;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &snapshot));
  return snapshot.SerializeAsString();
}

std::string gzipped(const std::string& bytes) {
  std::string packed;
  google::protobuf::io::StringOutputStream sink(&packed);
  google::protobuf::io::GzipOutputStream stream(&sink);
  void* data = nullptr;
  int size = 0;
  std::size_t done = 0;
  while (done < bytes.size() && stream.Next(&data, &size)) {
    const auto n = std::min(static_cast<std::size_t>(size), bytes.size() - done);
    std::copy_n(bytes.data() + done, n, static_cast<char*>(data));
    done += n;
    stream.BackUp(size - static_cast<int>(n));
  }
  stream.Close();
  return packed;
}

std::string error_of(const std::string& bytes) {
  try {
    decode_trace({{"t.pb", bytes}});
  } catch (const Error& error) {
    CHECK(error.kind == ErrorKind::kInput);
    return error.where + ": " + error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a trace reads the same as text, binary and gzip, in SI units") {
  const std::string bytes = binary(kTrace);
  const std::size_t half = bytes.size() / 2;
  const std::string two_members = gzipped(bytes.substr(0, half)) + gzipped(bytes.substr(half));
  for (const std::string& form : {kTrace, bytes, gzipped(bytes), gzipped(kTrace), two_members,
                                  two_members + std::string(512, '\0')}) {
    const Trace t = decode_trace({{"folder/t.pb", form}});
    CHECK(t.name == "t.pb");
    CHECK(t.dialect == Dialect::kOpstats);
    REQUIRE(t.dumps.size() == 1);
    const Dump& dump = t.dumps[0];
    CHECK(dump.time_s == Approx(2));
    CHECK(dump.process_cpu_s == Approx(1));
    CHECK(dump.think_time_s.value() == Approx(250e-6));
    REQUIRE(dump.ops.size() == 1);
    CHECK(dump.ops[0].elements == 10);
    CHECK(dump.ops[0].service_s == Approx(2e-6));
    CHECK(dump.ops[0].cpu_s == Approx(1e-6));
    CHECK(t.machine.cores == 4);
  }
}

TEST_CASE("dumps are put in the order of their time, strangers refused") {
  const Trace t = decode_trace({{"b.pb", trace_of(1, 9)}, {"a.pb", binary(kTrace)}});
  REQUIRE(t.dumps.size() == 2);
  CHECK(t.dumps[0].time_s == Approx(2));
  CHECK(t.dumps[1].time_s == Approx(8));
  CHECK_THROWS_AS(decode_trace({{"a.pb", kTrace}, {"c.pb", trace_of(7, 8)}}), Error);
}

TEST_CASE("what is no trace says what it is instead") {
  const std::string bytes = binary(kTrace);
  CHECK(error_of("") == "t.pb: the file is empty");
  CHECK(error_of(bytes.substr(0, 40)) == "t.pb: the file ends in the middle of field 1");
  CHECK(error_of("\xff\xfe\x00\x01") == "t.pb: this is not a trace (a PipelineSnapshot protobuf)");
  CHECK(error_of("graph {\n  nod { }\n  node: 3\n}") == "t.pb:3:9: Expected \"{\", found \"3\".");
  trace::PipelineSnapshot snapshot;
  REQUIRE(snapshot.ParseFromString(bytes));
  CHECK(error_of(snapshot.graph().SerializeAsString()) ==
        "t.pb: this is a bare GraphDef: a program without counters");
  tensorflow::data::model::ModelProto model;
  (*model.mutable_nodes())[1].set_name("Root");
  model.set_output(1);
  CHECK(error_of(model.SerializeAsString()) ==
        "t.pb: this is a bare ModelProto: counters without their program");
  const std::string packed = gzipped(bytes);
  CHECK(error_of(packed.substr(0, packed.size() - 9)) ==
        "t.pb: the gzip stream is damaged or ends too early");
  std::string damaged = packed;
  damaged[packed.size() - 6] ^= 1;  // of its checksum
  CHECK(error_of(damaged) == "t.pb: the gzip stream is damaged or ends too early");
  CHECK(error_of(packed + "more") == "t.pb: after the gzip stream come bytes that are none");
}

TEST_CASE("dumps that run backwards are said to") {
  const Trace t = decode_trace({{"a.pb", trace_of(1, 5, 20)}, {"b.pb", trace_of(1, 9, 10)}});
  CHECK(t.warnings == std::vector<std::string>{
                          "a.pb and b.pb run backwards: the later one has counted less, so the "
                          "clock was set or they are not of one run"});
  CHECK(decode_trace({{"a.pb", trace_of(1, 5, 20)}, {"b.pb", trace_of(1, 5, 20)}}).warnings ==
        std::vector<std::string>{"a.pb and b.pb are dumps of the same moment"});
  CHECK(decode_trace({{"a.pb", trace_of(9, 5, 20)}}).warnings ==
        std::vector<std::string>{"a.pb: its clock stands 4 s before the start of the run"});
  CHECK(decode_trace({{"a.pb", trace_of(1, 5, 10)}, {"b.pb", trace_of(1, 9, 20)}}).warnings ==
        std::vector<std::string>{});
}

TEST_CASE("of two counters of one name one is lost, and that is said") {
  const Trace t = decode_trace({{"t.pb", kTrace + "stats { name: 'x' } stats { name: 'x' }"}});
  CHECK(t.warnings == std::vector<std::string>{
                          "x: there are counters of this name twice; the last ones were taken"});
}

TEST_CASE("damaged counters are taken for nothing, and said") {
  const Trace t = decode_trace(
      {{"t.pb", kTrace + "stats { name: 'x' aggregate_processing_time: -5 element_ratio: nan }"}});
  REQUIRE(t.dumps[0].ops.size() == 2);
  CHECK(t.dumps[0].ops[1].service_s == 0);
  CHECK(t.warnings ==
        std::vector<std::string>{"x: a negative counter (-5) was taken for 0",
                                 "x: its element ratio is not a number; it is left out"});
}

}  // namespace plumber
