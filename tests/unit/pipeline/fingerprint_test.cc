// SPDX-License-Identifier: Apache-2.0
// What a fingerprint depends on, and what it must not depend on.
#include "pipeline/fingerprint.h"

#include "catch2_any.h"
#include "program_text.h"

namespace plumber {
namespace {

const std::string kProgram = R"(stop = 10
flag = true
handle = resource "MemoryCache_0"
range = RangeDataset(stop) : int64
map = MapDataset(range) f=@add metadata="m" : int64
batch = BatchDatasetV2(map, stop, flag) : int64[10]
root = _Retval(batch)
def add(x: int64) -> z: int64 = sum:z:0
  sum = AddV2(x, x)
def mul(x: int64) -> z: int64 = sum:z:0
  sum = Mul(x, x)
)";

std::string fingerprint_with(const std::string& old_part, const std::string& new_part) {
  std::string text = kProgram;
  const std::size_t at = text.find(old_part);
  REQUIRE(at != std::string::npos);
  return graph_fingerprint(program_of(text.replace(at, old_part.size(), new_part)));
}

TEST_CASE("a fingerprint is 16 hex digits, the same ones always") {
  CHECK(graph_fingerprint(program_of(kProgram)) == "037bab73a6076f10");
  CHECK(graph_fingerprint(program_of("")) == "cbf29ce484222325");
}

TEST_CASE("what a plan refers to counts") {
  const std::string own = graph_fingerprint(program_of(kProgram));
  CHECK(fingerprint_with("stop = 10", "stop = 11") != own);
  CHECK(fingerprint_with("flag = true", "flag = false") != own);
  CHECK(fingerprint_with("f=@add", "f=@mul") != own);
  CHECK(fingerprint_with("MapDataset(range)", "MapDataset(range, stop)") != own);
  CHECK(fingerprint_with("MapDataset(range)", "ParallelMapDatasetV2(range)") != own);
  CHECK(fingerprint_with("Mul(x, x)", "Sub(x, x)") != own);
}

TEST_CASE("what changes from one recording to the next does not count") {
  const std::string own = graph_fingerprint(program_of(kProgram));
  CHECK(fingerprint_with("MemoryCache_0", "MemoryCache_7") == own);
  CHECK(fingerprint_with("metadata=\"m\"", "metadata=\"n\"") == own);
  tensorflow::GraphDef turned = program_of(kProgram);
  turned.mutable_node()->SwapElements(0, 1);
  turned.mutable_library()->mutable_function()->SwapElements(0, 1);
  CHECK(graph_fingerprint(turned) == own);
}

}  // namespace
}  // namespace plumber
