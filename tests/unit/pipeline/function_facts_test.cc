// SPDX-License-Identifier: Apache-2.0
#include "pipeline/function_facts.h"

#include <google/protobuf/text_format.h>

#include "catch2_any.h"
#include "pipeline/op_effects.h"

using namespace plumber;
using Names = std::vector<std::string>;

namespace {

tensorflow::FunctionDefLibrary library(const std::string& text) {
  tensorflow::FunctionDefLibrary read;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &read));
  return read;
}

// function { name(x) -> y; body; y = value }
std::string function(const std::string& name, const std::string& body, const std::string& value) {
  return "function { signature { name: '" + name + "' input_arg { name: 'x' } " +
         "output_arg { name: 'y' } } " + body + " ret { key: 'y' value: '" + value + "' } }\n";
}

std::string node(const std::string& name, const std::string& op,
                 const std::string& inputs = "'x'") {
  return "node_def { name: '" + name + "' op: '" + op + "' input: [" + inputs + "] }\n";
}

std::string call(const std::string& name, const std::string& op, const std::string& callee) {
  return "node_def { name: '" + name + "' op: '" + op +
         "' input: 'x' attr { key: 'f' value { func " + "{ name: '" + callee + "' } } } }\n";
}

FunctionFacts facts_of(const std::string& text, const std::string& name) {
  const auto read = library(text);
  return function_facts(FunctionIndex(read), name);
}

}  // namespace

TEST_CASE("a random op counts where its value reaches a result") {
  const std::string crop = node("u", "RandomUniform") + node("sum", "AddV2", "'x', 'u:output:0'");
  CHECK(facts_of(function("f", crop, "sum:z:0"), "f").random == Names{"RandomUniform"});
  CHECK(facts_of(function("f", crop, "x"), "f").random.empty());
}

TEST_CASE("stateless random ops are functions of their seed, unless a stateful op makes it") {
  const std::string from_element =
      node("u", "StatelessRandomUniformV2") + node("sum", "AddV2", "'x', 'u'");
  CHECK(facts_of(function("f", from_element, "sum"), "f").random.empty());
  const std::string from_generator =
      node("seed", "RngReadAndSkip") + node("u", "StatelessRandomUniformV2", "'x', 'seed'");
  CHECK(facts_of(function("f", from_generator, "u"), "f").random == Names{"RngReadAndSkip"});
}

TEST_CASE("calls are followed through functions, branches and lists of branches") {
  const std::string text =
      function("leaf", node("u", "RandomUniform"), "u") +
      function("middle", call("call", "StatefulPartitionedCall", "leaf"), "call:output:0") +
      function("top",
               "node_def { name: 'case' op: 'Case' input: 'x' attr { key: 'branches' value { list "
               "{ func { name: 'middle' } func { name: 'gone' } } } } }",
               "case");
  const FunctionFacts facts = facts_of(text, "top");
  CHECK(facts.random == Names{"RandomUniform"});
  CHECK(facts.control_flow == Names{"Case"});
  CHECK(facts.missing == Names{"gone"});
  CHECK(facts.ops == 3);
  CHECK(!facts.recursive);
}

TEST_CASE("a random function whose result is dropped does not count") {
  const std::string text =
      function("leaf", node("u", "RandomUniform"), "u") +
      function("top", call("call", "StatefulPartitionedCall", "leaf") + node("y", "Neg"), "y");
  CHECK(facts_of(text, "top").random.empty());
}

TEST_CASE("functions that call each other are counted once and called recursive") {
  const std::string text =
      function("even", call("c", "PartitionedCall", "odd") + node("q", "QueueDequeueV2"), "c") +
      function("odd", call("c", "PartitionedCall", "even"), "c") +
      function("top", call("c", "PartitionedCall", "even"), "c");
  const FunctionFacts facts = facts_of(text, "top");
  CHECK(facts.recursive);
  CHECK(facts.stateful == Names{"QueueDequeueV2"});
  CHECK(facts.ops == 4);
  CHECK(facts_of(text, "odd").stateful == Names{"QueueDequeueV2"});
}

TEST_CASE("a chain of 5,000 functions takes no recursion") {
  std::string text = function("f0", node("u", "TruncatedNormal"), "u");
  for (int i = 1; i < 5000; ++i)
    text += function("f" + std::to_string(i),
                     call("c", "PartitionedCall", "f" + std::to_string(i - 1)), "c");
  const FunctionFacts facts = facts_of(text, "f4999");
  CHECK(facts.random == Names{"TruncatedNormal"});
  CHECK(facts.ops == 5000);
}

TEST_CASE("functions of inner data sets give effects, but no control flow and no kernels") {
  const std::string text =
      function("inner", call("if", "If", "branch"), "if") +
      function("branch", node("p", "PyFunc") + node("u", "RandomUniform", "'p'"), "u") +
      function("outer", call("map", "MapDataset", "inner"), "map:handle:0");
  const FunctionFacts facts = facts_of(text, "outer");
  CHECK(facts.control_flow.empty());
  CHECK(facts.ops == 1);
  CHECK(facts.python == Names{"PyFunc"});
  CHECK(facts.random == Names{"RandomUniform"});
}

TEST_CASE("a shuffle inside a function is random only where the function reduces the data set") {
  const std::string shuffle = node("s", "ShuffleDatasetV3");
  CHECK(facts_of(function("f", shuffle, "s"), "f").random.empty());
  CHECK(facts_of(function("f", shuffle + node("r", "ReduceDataset", "'s'"), "r"), "f").random ==
        Names{"ShuffleDatasetV3"});
}

TEST_CASE("a function that only passes inputs on is not called") {
  CHECK(facts_of(function("f", "", "x"), "f").short_circuit);
  CHECK(facts_of(function("f", node("i", "Identity"), "i:output:0"), "f").short_circuit);
  CHECK(!facts_of(function("f", node("i", "Neg"), "i"), "f").short_circuit);
  CHECK(!facts_of(function("f", node("i", "Identity", "'i'"), "i"), "f").short_circuit);
}

TEST_CASE("a transpose shards from rank 3 on") {
  const auto transpose = [](int rank) {
    return function("f",
                    "node_def { name: 'perm' op: 'Const' attr { key: 'value' value { tensor { "
                    "tensor_shape { dim { size: " +
                        std::to_string(rank) + " } } } } } }" +
                        node("t", "Transpose", "'x', 'perm:output:0'"),
                    "t");
  };
  CHECK(facts_of(transpose(2), "f").sharding.empty());
  CHECK(facts_of(transpose(3), "f").sharding == Names{"Transpose"});
}

TEST_CASE("an absent function is missing") { CHECK(facts_of("", "f").missing == Names{"f"}); }

TEST_CASE("effects of ops") {
  CHECK(op_effect("MatMul") == OpEffect::kPure);
  CHECK(op_effect("ReadFile") == OpEffect::kPure);
  CHECK(op_effect("Assert") == OpEffect::kPure);
  CHECK(op_effect("ScatterNd") == OpEffect::kPure);
  CHECK(op_effect("ScatterNdUpdate") == OpEffect::kStateWrite);
  CHECK(op_effect("LookupTableFindV2") == OpEffect::kStateRead);
  CHECK(op_effect("AssignVariableOp") == OpEffect::kStateWrite);
  CHECK(op_effect("_Send") == OpEffect::kStateful);
  CHECK(op_effect("Addons>Something") == OpEffect::kStateful);
  CHECK(op_effect("EagerPyFunc") == OpEffect::kPython);
}

TEST_CASE("source names") {
  CHECK(source_name("__inference_Dataset_map__parse_69") == "_parse");
  CHECK(source_name("__inference_Dataset_filter_lambda_85") == "lambda");
  CHECK(source_name("__inference_Dataset_interleave_classabc.ABCMeta_22") == "");
  CHECK(source_name("__inference_Dataset_flat_map_read_one_file_14") == "");
  CHECK(source_name("__inference_Dataset_flat_map_expand_14") == "expand");
  CHECK(source_name("__inference_augment_7") == "augment");
  CHECK(source_name("decode") == "decode");
}
