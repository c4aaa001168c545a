// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batch_form.h"

#include <fmt/format.h>

#include "catch2_any.h"
#include "program_text.h"

namespace plumber {
namespace {

/// Of a function of one scalar, or of elements of these ranks.
std::string why_not(const std::string& function, const std::vector<int>& ranks = {0}) {
  const tensorflow::GraphDef graph = program_of("root = _Retval()\n" + function);
  return why_no_batch_form(graph.library().function(0), ranks);
}

TEST_CASE("element-wise functions of scalars work on batches") {
  CHECK(why_not("def f(x: float) -> y: float = sum:z:0\n"
                "  two = 2\n"
                "  product = Mul(x, two:output:0)\n"
                "  sum = AddV2(product:z:0, x)\n")
            .empty());
  CHECK(why_not("def f(x: string) -> y: float = c:output:0\n"
                "  d = 0\n"
                "  c = DecodeCSV(x, d:output:0)\n")
            .empty());
}

TEST_CASE("what does not compute row by row, or rounds otherwise in a vector, does not") {
  CHECK(why_not("def f(x: float) -> y: float = e:y:0\n"
                "  e = Exp(x)\n") == "Exp has no batch form that is known to be the same");
  CHECK(why_not("def f(x: float) -> y: int64 = two:output:0\n"
                "  two = 2\n") == "a result of it does not depend on the element");
  CHECK(why_not("def f(x: float, v: float) -> y: float = s:z:0\n"
                "  s = AddV2(x, v)\n",
                {0, 1}) == "AddV2 combines tensors of other or unknown ranks");
  // A captured argument: its rank is not known.
  CHECK(why_not("def f(x: float, c: float) -> y: float = s:z:0\n"
                "  s = AddV2(x, c)\n") == "AddV2 combines tensors of other or unknown ranks");
  CHECK(why_not("def f(x: float) -> y: float = p:output:0\n"
                "  p = PartitionedCall(x)\n") ==
        "PartitionedCall has no batch form that is known to be the same");
}

TEST_CASE("casts that saturate in a vector and wrap around alone do not") {
  const auto cast = [](tensorflow::DataType from, tensorflow::DataType to) {
    tensorflow::GraphDef graph =
        program_of("root = _Retval()\ndef f(x: float) -> y: float = c:y:0\n  c = Cast(x)\n");
    auto& attributes =
        *graph.mutable_library()->mutable_function(0)->mutable_node_def(0)->mutable_attr();
    attributes["SrcT"].set_type(from);
    attributes["DstT"].set_type(to);
    return why_no_batch_form(graph.library().function(0), {0});
  };
  CHECK(cast(tensorflow::DT_UINT8, tensorflow::DT_FLOAT).empty());
  CHECK(cast(tensorflow::DT_INT64, tensorflow::DT_INT32).empty());
  CHECK(cast(tensorflow::DT_FLOAT, tensorflow::DT_INT32).empty());
  const std::string saturates = "Cast rounds otherwise in a vector";
  CHECK(cast(tensorflow::DT_FLOAT, tensorflow::DT_UINT8) == saturates);
  CHECK(cast(tensorflow::DT_DOUBLE, tensorflow::DT_INT16) == saturates);
  CHECK(cast(tensorflow::DT_FLOAT, tensorflow::DT_BFLOAT16) == saturates);
  CHECK(cast(tensorflow::DT_COMPLEX64, tensorflow::DT_FLOAT) == saturates);
  CHECK(cast(tensorflow::DT_FLOAT, tensorflow::DT_COMPLEX128) == saturates);
}

TEST_CASE("complex arithmetic does not: a vector works on its parts in another order") {
  for (const char* op : {"RealDiv", "Mul", "Square", "SquaredDifference", "AddV2", "Equal"}) {
    tensorflow::GraphDef graph = program_of(
        fmt::format("root = _Retval()\ndef f(x: float) -> y: float = c:y:0\n  c = {}(x, x)\n", op));
    auto& attributes =
        *graph.mutable_library()->mutable_function(0)->mutable_node_def(0)->mutable_attr();
    for (const auto type : {tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128}) {
      attributes["T"].set_type(type);
      CHECK(why_no_batch_form(graph.library().function(0), {0}) ==
            fmt::format("{} rounds otherwise in a vector", op));
    }
    attributes["T"].set_type(tensorflow::DT_DOUBLE);
    CHECK(why_no_batch_form(graph.library().function(0), {0}).empty());
  }
}

TEST_CASE("a stack at an axis counted from the front moves by one") {
  tensorflow::NodeDef node;
  node.set_op("Pack");
  (*node.mutable_attr())["axis"].set_i(0);
  take_batch_form(node);
  CHECK(node.attr().at("axis").i() == 1);
  (*node.mutable_attr())["axis"].set_i(-1);
  take_batch_form(node);
  CHECK(node.attr().at("axis").i() == -1);
}

}  // namespace
}  // namespace plumber
