// SPDX-License-Identifier: Apache-2.0
#include "pipeline/frozen_state.h"

#include <google/protobuf/text_format.h>

#include "catch2_any.h"
#include "graph.pb.h"

using namespace plumber;

TEST_CASE("a table that the program fills is frozen, one that a file fills is not") {
  tensorflow::GraphDef graph;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(
      "node { name: 'table' op: 'MutableHashTableV2' } "
      "node { name: 'import' op: 'LookupTableImportV2' input: 'table' } "
      "node { name: 'same' op: 'Identity' input: 'table' input: '^import' } "
      "node { name: 'words' op: 'HashTableV2' } "
      "node { name: 'range' op: 'RangeDataset' } "
      "node { name: 'map' op: 'MapDataset' input: 'range' input: 'same' input: '^words' } "
      "node { name: 'other' op: 'MapDataset' input: 'map' input: 'words' input: '^table' } ",
      &graph));
  CHECK(frozen_state(graph, Pipeline{}) ==
        std::vector<std::string>{
            "map: its function uses a table that the program can change; a written program keeps "
            "the contents that it had when the trace was recorded"});
}

TEST_CASE("a variable is frozen") {
  Pipeline pipeline;
  pipeline.nodes.resize(2);
  pipeline.nodes[1].name = "map";
  pipeline.nodes[1].function = Function{"f", "f", {}};
  pipeline.nodes[1].function->facts.state_reads = {"ReadVariableOp"};
  CHECK(frozen_state(tensorflow::GraphDef{}, pipeline) ==
        std::vector<std::string>{
            "map: its function reads a variable; a written program keeps the value that it had "
            "when the trace was recorded"});
}
