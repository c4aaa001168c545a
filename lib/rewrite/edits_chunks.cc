// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "pipeline/batch_form.h"
#include "pipeline/graph_scope.h"
#include "pipeline/op_table.h"
#include "rewrite/chunks.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::NodeDef;

namespace {

constexpr std::int64_t kMostElements = 1'000'000;
constexpr std::int64_t kMostChunks = 10'000;
constexpr const char* kSlices = "TensorSliceDataset";
constexpr const char* kBatch = "BatchDatasetV2";
constexpr const char* kInterleave = "ParallelInterleaveDatasetV4";

std::int64_t size_of(const Edit& edit) {
  const std::int64_t* size = std::get_if<std::int64_t>(&edit.value);
  if (!size || *size < 2 || *size > kMostElements)
    refuse("the value is no number of elements", fmt::format("give 2 to {}", kMostElements));
  return *size;
}

std::int64_t chunks_at_once(const Edit& edit) {
  std::int64_t count = 0;
  const char* end = edit.to.data() + edit.to.size();
  const auto [read_to, error] = std::from_chars(edit.to.data(), end, count);
  if (error != std::errc() || read_to != end || count < 1 || count > kMostChunks)
    refuse(fmt::format("'{}' is no number of chunks at once", edit.to),
           fmt::format("give 1 to {}", kMostChunks));
  return count;
}

ElementSpec spec_of_equal_elements(const NodeDef& node) {
  if (!element_ranks(node))
    refuse("its elements may differ in shape or are no plain tensors, so they make no batch",
           "put the chunks above a node whose elements are alike");
  return known_spec(node);
}

ElementSpec batches_of(ElementSpec spec) {
  for (auto& shape : *spec.shapes.mutable_list()->mutable_shape()) {
    tensorflow::TensorShapeProto batch;
    batch.add_dim()->set_size(-1);
    for (const auto& dim : shape.dim()) *batch.add_dim() = dim;
    shape = batch;
  }
  return spec;
}

// (parts of a chunk...) -> the data set of its elements.
std::string add_slices(GraphIndex& graph, const ElementSpec& spec) {
  tensorflow::FunctionDef function;
  auto* signature = function.mutable_signature();
  signature->set_name(graph.fresh_function_name("plumber_chunk"));
  NodeDef* slices = function.add_node_def();
  slices->set_name(kSlices);
  slices->set_op(kSlices);
  (*slices->mutable_attr())["Toutput_types"] = spec.types;
  (*slices->mutable_attr())["output_shapes"] = spec.shapes;
  set_flag(*slices, "is_files", false);
  set_flag(*slices, "replicate_on_split", false);
  for (int i = 0; i < spec.types.list().type_size(); ++i) {
    auto* argument = signature->add_input_arg();
    argument->set_name(fmt::format("plumber_part_{}", i));
    argument->set_type(static_cast<tensorflow::DataType>(spec.types.list().type(i)));
    slices->add_input(argument->name());
  }
  auto* result = signature->add_output_arg();
  result->set_name("dataset");
  result->set_type(tensorflow::DT_VARIANT);
  (*function.mutable_ret())[result->name()] = fmt::format("{}:handle:0", kSlices);
  graph.add_function(function);
  return signature->name();
}

tensorflow::TensorProto boolean_tensor(bool value) {
  tensorflow::TensorProto tensor;
  tensor.set_dtype(tensorflow::DT_BOOL);
  tensor.mutable_tensor_shape();
  tensor.add_bool_val(value);
  return tensor;
}

// Puts a node of that op over `below`, its scalars between the two.
NodeDef* add_above(Body& body, const NodeDef& below, NodeDef node,
                   const std::vector<tensorflow::TensorProto>& scalars) {
  node.add_input(body.output_of(below));
  const NodeDef* last = &below;
  for (const tensorflow::TensorProto& scalar : scalars) {
    last = body.insert_after(last, constant(body.fresh_name("Const"), scalar));
    node.add_input(body.output_of(*last));
  }
  return body.insert_after(last, std::move(node));
}

NodeDef node_called(const std::string& name, const char* op, const ElementSpec& spec) {
  NodeDef node;
  node.set_name(name);
  node.set_op(op);
  set_spec(node, spec);
  return node;
}

}  // namespace

void insert_chunks(Rewriting& program, const Edit& edit) {
  const auto [body, node] = node_of(program, edit.node);
  const std::int64_t size = size_of(edit), at_once = chunks_at_once(edit);
  const std::string name = chunks_name(node->name());
  if (body->is_function())
    refuse("it does not stand in the main program", "put the chunks above the node that calls it");
  if (body->find(name) || body->find(chunk_name(node->name())))
    refuse(fmt::format("the program has a '{}' already", name));
  const ElementSpec spec = spec_of_equal_elements(*node);

  NodeDef batch = node_called(chunk_name(node->name()), kBatch, batches_of(spec));
  set_flag(batch, "parallel_copy", false);
  NodeDef* chunk =
      add_above(*body, *node, std::move(batch), {integer_tensor(size), boolean_tensor(false)});
  NodeDef interleave = node_called(name, kInterleave, spec);
  (*interleave.mutable_attr())["Targuments"].mutable_list();
  set_text(interleave, "deterministic", "true");
  program.graph.set_function(interleave, "f", add_slices(program.graph, spec));
  std::vector<tensorflow::TensorProto> scalars;
  for (const std::int64_t scalar : {at_once, size + 1, size + 1, std::int64_t{0}, at_once})
    scalars.push_back(integer_tensor(scalar));
  NodeDef* chunks = add_above(*body, *chunk, std::move(interleave), scalars);
  body->replace_reads(*node, body->output_of(*chunks), chunk);
}

namespace {

std::int64_t batch_size_of(const Body& body, const NodeDef& batch) {
  const NodeDef* size = data_inputs(batch) > 1 ? body.value_of(batch.input(1)) : nullptr;
  return size ? integer_value(*size).value_or(0) : 0;
}

bool holds_filter(Body& inner) {
  return std::ranges::any_of(inner.nodes(), [](const NodeDef* node) {
    return op_traits(node->op()).kind == Kind::kFilter;
  });
}

}  // namespace

bool are_chunks(const Body& body, const NodeDef& interleave) {
  const NodeDef* batch = interleave.input_size() > 0 ? body.producer(interleave.input(0)) : nullptr;
  if (!batch || interleave.op() != kInterleave || batch->op() != kBatch) return false;
  const std::string prefix = chunk_name("");
  return batch->name().starts_with(prefix) &&
         interleave.name() == chunks_name(batch->name().substr(prefix.size()));
}

void batch_chunks(Body& body, NodeDef& interleave, const NodeDef& batch, Body& inner) {
  const std::int64_t size = batch_size_of(body, batch);
  const std::int64_t chunk = batch_size_of(body, *body.producer(interleave.input(0)));
  if (size < 1 || chunk % size != 0)
    refuse(fmt::format("its batches of {} do not divide the chunks of {} elements", size, chunk),
           "make chunks of a multiple, or leave the batch above them");
  if (holds_filter(inner))
    refuse("a filter below it leaves chunks of different sizes", "leave the batch above them");
  const int scalars = data_inputs(interleave);
  for (const int place : {scalars - 4, scalars - 3})  // block_length, buffer_output_elements
    set_scalar(body, interleave, place, chunk / size + 1);
}

}  // namespace plumber
