// SPDX-License-Identifier: Apache-2.0
#include "pipeline/large_constants.h"

#include "catch2_any.h"
#include "graph.pb.h"

using namespace plumber;

namespace {

tensorflow::NodeDef constant(const std::string& name, std::size_t bytes) {
  tensorflow::NodeDef node;
  node.set_name(name);
  node.set_op("Const");
  (*node.mutable_attr())["value"].mutable_tensor()->set_tensor_content(std::string(bytes, 'x'));
  return node;
}

}  // namespace

TEST_CASE("large constants go by the data set that takes them, small ones are left out") {
  tensorflow::GraphDef graph;
  *graph.add_node() = constant("images", 3 << 20);
  *graph.add_node() = constant("count", 8);
  tensorflow::NodeDef* slices = graph.add_node();
  slices->set_name("slices");
  slices->set_op("TensorSliceDataset");
  slices->add_input("images:0");
  slices->add_input("count");
  *graph.mutable_library()->add_function()->add_node_def() = constant("table", 2 << 20);

  const auto found = large_constants(graph);
  REQUIRE(found.size() == 2);
  CHECK(found[0].node == "slices");
  CHECK(found[0].bytes == Approx(3 << 20).epsilon(1e-3));
  CHECK(found[1].node == "table");
}
