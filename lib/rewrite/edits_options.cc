// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "options.pb.h"
#include "pipeline/op_table.h"
#include "rewrite/edits.h"
#include "rewrite/node_parts.h"
#include "rewrite/options_fields.h"

namespace plumber {

using tensorflow::NodeDef;
using tensorflow::data::Options;

namespace {

constexpr const char* kOptionsOp = "OptionsDataset";
constexpr const char* kSerialized = "serialized_options";

NodeDef* root_of(Body& main) {
  for (const NodeDef* node : main.nodes())
    if (node->op() == "_Retval" && node->input_size() > 0) return main.producer(node->input(0));
  return nullptr;
}

// The Options nodes at the top, uppermost first; only nodes without an iterator stand between them.
// TensorFlow merges all Options of a program, upper ones win.
std::vector<NodeDef*> options_nodes(Body& main) {
  std::vector<NodeDef*> found;
  NodeDef* node = root_of(main);
  while (node && op_traits(node->op()).kind == Kind::kWrapper && data_inputs(*node) > 0) {
    if (node->op() == kOptionsOp) found.push_back(node);
    node = main.producer(node->input(0));
  }
  return found;
}

Options options_of(const NodeDef& node) {
  Options options;
  const tensorflow::AttrValue* bytes = attribute(node, kSerialized);
  if (bytes && !options.ParseFromString(bytes->s()))
    refuse("the program's Options cannot be read", "the program is damaged; record it again");
  return options;
}

void store(NodeDef& node, const Options& options) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    options.SerializeToCodedStream(&coded);
  }
  set_text(node, kSerialized, bytes);
}

NodeDef* add_options_node(Body& main) {
  NodeDef* root = root_of(main);
  if (!root) refuse("the program has no root that options could be put on");
  NodeDef node;
  node.set_name(main.fresh_name(kOptionsOp));
  node.set_op(kOptionsOp);
  node.add_input(main.output_of(*root));
  set_spec(node, known_spec(*root));
  store(node, Options());
  NodeDef* added = main.insert_after(root, std::move(node));
  main.replace_reads(*root, main.output_of(*added), added);
  return added;
}

void drop_if_empty(Body& main, NodeDef& node) {
  if (!is_empty(options_of(node))) return;
  main.replace_reads(node, node.input(0));
  main.remove(node, main.producer(node.input(0)));
}

}  // namespace

void set_options(Rewriting& program, const Edit& edit) {
  Options checked;
  set_options_field(checked, edit.to, edit.value);
  Body& main = program.graph.main();
  std::vector<NodeDef*> nodes = options_nodes(main);
  const bool unset = std::holds_alternative<std::monostate>(edit.value);
  if (nodes.empty() && unset) return;
  if (nodes.empty()) nodes.push_back(add_options_node(main));
  if (!unset) nodes.resize(1);
  for (NodeDef* node : nodes) {
    Options options = options_of(*node);
    set_options_field(options, edit.to, edit.value);
    store(*node, options);
    drop_if_empty(main, *node);
  }
}

bool is_deterministic(Rewriting& program) {
  for (const NodeDef* node : options_nodes(program.graph.main())) {
    const Options options = options_of(*node);
    if (options.has_deterministic()) return options.deterministic();
  }
  return true;
}

bool has_default_rewrites(Rewriting& program) {
  for (const NodeDef* node : options_nodes(program.graph.main())) {
    const Options options = options_of(*node);
    const auto& optimization = options.optimization_options();
    if (optimization.has_apply_default_optimizations())
      return optimization.apply_default_optimizations();
  }
  return true;
}

}  // namespace plumber
