// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "pipeline/graph_scope.h"
#include "pipeline/op_table.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::NodeDef;

namespace {

// A parallel op, its sequential form, and the scalars that only the parallel one has: `extra` of
// them, the first one `from_end` places from the end. The last one of them is the number of calls.
struct Form {
  std::string_view parallel;
  std::string_view sequential;
  int from_end;
  int extra;
};

constexpr auto kForms = std::to_array<Form>({
    {"ParallelMapDatasetV2", "MapDataset", 1, 1},
    {"ParallelMapDataset", "MapDataset", 1, 1},
    {"ParallelFilterDataset", "FilterDataset", 1, 1},
    {"ParallelInterleaveDatasetV4", "InterleaveDataset", 3, 3},
    {"ParallelInterleaveDatasetV3", "InterleaveDataset", 1, 1},
    {"ParallelInterleaveDatasetV2", "InterleaveDataset", 1, 1},
    {"ParallelBatchDataset", "BatchDatasetV2", 2, 1},
});

constexpr std::string_view kBufferSizes = "ParallelInterleaveDatasetV4";

// The first form of a sequential op is the one that we write.
const Form* form_of_sequential(std::string_view op) {
  const auto found = std::ranges::find(kForms, op, &Form::sequential);
  return found == kForms.end() ? nullptr : &*found;
}

const Form* form_of_parallel(std::string_view op) {
  const auto found = std::ranges::find(kForms, op, &Form::parallel);
  return found == kForms.end() ? nullptr : &*found;
}

// TensorFlow does not load an interleave with more calls than its cycle is long.
void check_cycle(const Body& body, const NodeDef& node, std::int64_t calls) {
  const OpTraits& traits = op_traits(node.op());
  const int index = input_place(traits.cycle_input, data_inputs(node));
  const NodeDef* source = index < 0 ? nullptr : body.value_of(node.input(index));
  const auto cycle = source ? integer_value(*source) : std::nullopt;
  if (traits.kind == Kind::kInterleave && index >= 0 && !cycle && calls > 0)
    refuse("its cycle_length is computed when the program runs, and may be less than the calls",
           "give -1 for AUTOTUNE");
  if (traits.kind == Kind::kInterleave && cycle && *cycle > 0 && calls > *cycle)
    refuse(fmt::format("{} calls are more than its cycle_length of {}", calls, *cycle),
           fmt::format("give {} or fewer; another cycle_length changes the order", *cycle));
}

}  // namespace

void set_parallelism(Rewriting& program, const Edit& edit) {
  const GraphIndex::Place place = function_node_of(program, edit.node);
  const std::int64_t calls = calls_of(edit);
  const OpTraits& traits = op_traits(place.node->op());
  const int index = input_place(traits.parallelism_input, data_inputs(*place.node));
  if (index < 0)
    refuse(fmt::format("{} has no number of parallel calls", place.node->op()),
           form_of_sequential(place.node->op()) ? "convert it to its parallel op first" : "");
  if (traits.parallelism_input == traits.cycle_input)
    refuse(fmt::format("the calls of {} are its cycle_length, which decides the order",
                       place.node->op()));
  check_cycle(*place.body, *place.node, calls);
  set_scalar(*place.body, *place.node, index, calls);
}

void lengthen_cycle(Rewriting& program, const Edit& edit) {
  const GraphIndex::Place place = function_node_of(program, edit.node);
  const OpTraits& traits = op_traits(place.node->op());
  const int index = input_place(traits.cycle_input, data_inputs(*place.node));
  if (traits.kind != Kind::kInterleave || index < 0)
    refuse(fmt::format("{} has no cycle_length", place.node->op()));
  set_scalar(*place.body, *place.node, index, calls_of(edit));
}

void convert(Rewriting& program, const Edit& edit) {
  const bool is_batch = edit.to == "ParallelBatchDataset";
  const auto [body, node] =
      is_batch ? node_of(program, edit.node) : function_node_of(program, edit.node);
  const std::int64_t calls = calls_of(edit);
  const Form* form = form_of_sequential(node->op());
  if (!form && node->op() == edit.to)
    refuse(fmt::format("it is a {} already", edit.to), "use set_parallelism");
  if (!form) refuse(fmt::format("{} has no parallel op", node->op()));
  if (edit.to != form->parallel)
    refuse(fmt::format("{} cannot become '{}'", node->op(), edit.to),
           fmt::format("it can become {}", form->parallel));
  check_cycle(*body, *node, calls);
  std::vector<std::int64_t> scalars = {calls};
  // Buffers of the interleave's workers: -1 is what Dataset.interleave(num_parallel_calls) writes.
  if (form->parallel == kBufferSizes) scalars = {-1, -1, calls};
  body->add_inputs(*node, data_inputs(*node) - (form->from_end - form->extra),
                   add_integers(*body, *node, scalars));
  node->set_op(std::string(form->parallel));
  drop_attributes(*node, {"force_synchronous"});
  set_text(*node, "deterministic", "true");
}

void check_parallel_filter(Rewriting& program, const Edit& edit) {
  if (edit.to != "ParallelFilterDataset") return;
  const GraphIndex::Place place = program.graph.find(edit.node);
  if (!place.node || place.node->op() != edit.to || place.body->is_function()) return;
  if (has_default_rewrites(program))
    refuse("TensorFlow runs a ParallelFilterDataset with its default rewrites off only",
           "set experimental_optimization.apply_default_optimizations to false, or use "
           "pass_through_filter");
}

void make_sequential(Rewriting& program, const Edit& edit) {
  const auto [body, node] = function_node_of(program, edit.node);
  const Form* form = form_of_parallel(node->op());
  if (!form) refuse(fmt::format("{} has no sequential op", node->op()));
  body->remove_inputs(*node, data_inputs(*node) - form->from_end, form->extra);
  node->set_op(std::string(form->sequential));
  drop_attributes(*node, {"deterministic", "use_unbounded_threadpool", "sloppy"});
  if (form->sequential == "MapDataset") set_flag(*node, "force_synchronous", true);
}

namespace {

// The map's elements are those of the batch without their first dimension.
ElementSpec without_batch(ElementSpec spec) {
  for (auto& shape : *spec.shapes.mutable_list()->mutable_shape())
    if (shape.dim_size() > 0) shape.mutable_dim()->DeleteSubrange(0, 1);
  return spec;
}

// In a function, where only plans written by hand do this, any.
std::string name_of_map(Body& body, const NodeDef& node) {
  if (body.is_function()) return body.fresh_name("ParallelMapDatasetV2");
  const std::string name = unfused_map_name(node.name());
  if (body.find(name)) refuse(fmt::format("the program has a '{}' already", name));
  return name;
}

}  // namespace

void unfuse(Rewriting& program, const Edit& edit) {
  const auto [body, node] = node_of(program, edit.node);
  if (op_traits(node->op()).kind != Kind::kMapBatch)
    refuse(fmt::format("{} is no map and batch in one", node->op()));
  const ElementSpec spec = known_spec(*node);
  const int inputs = data_inputs(*node);
  NodeDef map = *node;
  map.set_name(name_of_map(*body, *node));
  map.set_op("ParallelMapDatasetV2");
  map.mutable_input()->DeleteSubrange(inputs - 1, 1);  // drop_remainder
  map.mutable_input()->DeleteSubrange(inputs - 3, 1);  // batch_size; the calls are last now
  set_spec(map, without_batch(spec));
  set_text(map, "deterministic", "true");
  drop_attributes(map, {"metadata"});
  const NodeDef* added = body->insert_before(node, std::move(map));
  body->remove_inputs(*node, inputs - 2, 1);  // num_parallel_calls
  body->remove_inputs(*node, 1, captured_arguments(*node));
  body->set_input(*node, 0, body->output_of(*added));
  node->set_op("BatchDatasetV2");
  drop_attributes(*node, {"f", "Targuments", "preserve_cardinality"});
  std::string address = added->name();
  const std::size_t end = edit.node.size() - node->name().size();
  if (body->is_function()) address = edit.node.substr(0, end) + address;
  program.removed.erase(address);  // where the plan had fused the two again
  program.function_part.insert_or_assign(edit.node, address);
}

}  // namespace plumber
