// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/batch_form.h"
#include "pipeline/op_table.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::NodeDef;

namespace {

bool commutes_with_map(const NodeDef& node) {
  switch (op_traits(node.op()).kind) {
    case Kind::kTake:
    case Kind::kSkip:
    case Kind::kShard:
    case Kind::kShuffle:
    case Kind::kRepeat:
    case Kind::kPrefetch:
    case Kind::kCache:
      return true;
    case Kind::kBatch:
      return is_plain_batch(node.op());
    default:
      return false;
  }
}

// The elements of the batch over the map's input: its shapes behind the batch's first dimension.
ElementSpec batch_of(const ElementSpec& element, const ElementSpec& batch) {
  ElementSpec spec = element;
  const auto& shapes = batch.shapes.list().shape();
  if (shapes.empty() || shapes[0].unknown_rank() || shapes[0].dim_size() < 1)
    refuse("the batch does not say how long it is");
  const auto& first = shapes[0].dim(0);
  for (auto& shape : *spec.shapes.mutable_list()->mutable_shape()) {
    auto* front = shape.add_dim();
    *front = first;
    for (int i = shape.dim_size() - 1; i > 0; --i) shape.mutable_dim()->SwapElements(i, i - 1);
  }
  return spec;
}

// The map's function works on batches from here on; so do no other nodes that name it.
void work_on_batches(Rewriting& program, NodeDef& map, const NodeDef& source) {
  const std::string function = function_of(map);
  const auto ranks = element_ranks(source);
  if (!ranks) refuse("the shapes of the elements below the map are not known in full");
  if (!program.graph.has_function(function)) refuse("the map's function is not in the program");
  const std::string why = why_no_batch_form(program.graph.copy_of(function), *ranks);
  if (!why.empty()) refuse("the map's function does not work on batches: " + why);
  Body& body = program.graph.own_function(*map.mutable_attr()->at("f").mutable_func());
  for (const NodeDef* node : body.nodes()) take_batch_form(*body.find(node->name()));
  // Shapes that TensorFlow noted for single elements.
  body.function()->mutable_arg_attr()->clear();
}

bool is_map(const NodeDef& node) { return op_traits(node.op()).kind == Kind::kMap; }

// All elements pass these, in whatever order.
bool map_goes_below(const NodeDef& node) {
  const Kind kind = op_traits(node.op()).kind;
  return kind == Kind::kShuffle || kind == Kind::kRepeat || kind == Kind::kPrefetch;
}

void check_pair(const Body& body, const Edit& edit, const GraphIndex::Place& lower,
                const GraphIndex::Place& above) {
  if (above.body != &body || body.producer(above.node->input(0)) != lower.node)
    refuse(fmt::format("'{}' and '{}' do not read each other", edit.node, edit.to));
  const bool rises = is_map(*lower.node) && commutes_with_map(*above.node);
  const bool sinks = map_goes_below(*lower.node) && is_map(*above.node);
  if (rises || sinks) return;
  refuse(fmt::format("{} above {} cannot be swapped", above.node->op(), lower.node->op()),
         "only a 1:1 map goes above the take, skip, shard, shuffle, repeat, prefetch, cache or "
         "batch over it, or below the shuffle, repeat or prefetch under it");
}

}  // namespace

void reorder(Rewriting& program, const Edit& edit) {
  GraphIndex::Place lower = node_of(program, edit.node);
  GraphIndex::Place above = node_of(program, edit.to);
  if (lower.body->producer(lower.node->input(0)) == above.node) std::swap(lower, above);
  Body& body = *lower.body;
  check_pair(body, edit, lower, above);
  if (body.is_shared(*lower.node))
    refuse(fmt::format("other nodes read '{}' too", lower.node->name()));
  const NodeDef* source = body.producer(lower.node->input(0));
  if (!source) refuse("what stands below the map is an argument of the function");
  const ElementSpec element = known_spec(*source);
  if (is_plain_batch(above.node->op())) {
    const ElementSpec batch = known_spec(*above.node);
    const ElementSpec below = batch_of(element, batch);
    work_on_batches(program, *lower.node, *source);
    set_spec(*lower.node, batch);
    set_spec(*above.node, below);
  } else if (is_map(*lower.node)) {
    set_spec(*above.node, element);
  } else {
    set_spec(*lower.node, known_spec(*above.node));
  }
  body.set_input(*above.node, 0, lower.node->input(0));
  body.replace_reads(*above.node, body.output_of(*lower.node));
  body.set_input(*lower.node, 0, body.output_of(*above.node));
  body.move_after(*above.node, *lower.node);
}

}  // namespace plumber
