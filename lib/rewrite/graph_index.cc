// SPDX-License-Identifier: Apache-2.0
#include "rewrite/graph_index.h"

#include <algorithm>
#include <unordered_set>

#include "pipeline/op_table.h"
#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::FunctionDef;
using tensorflow::NameAttrList;
using tensorflow::NodeDef;

namespace {

// True if the body has a node that the address starts with.
bool begins_in(const Body& body, const std::string& address) {
  if (body.find(address)) return true;
  for (std::size_t end = address.find('>'); end != std::string::npos;
       end = address.find('>', end + 1))
    if (body.find(std::string_view(address).substr(0, end))) return true;
  return false;
}

}  // namespace

GraphIndex::GraphIndex(tensorflow::GraphDef* graph)
    : graph_(graph), main_(graph->mutable_node(), nullptr) {
  for (const NodeDef* node : main_.nodes()) count_uses(*main_.find(node->name()));
  for (FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    functions_.emplace(function.signature().name(), &function);
    for (NodeDef& node : *function.mutable_node_def()) count_uses(node);
  }
}

void GraphIndex::count_uses(NodeDef& node) {
  for (const NameAttrList* reference : function_references(node)) ++uses_[reference->name()];
}

Body& GraphIndex::body(const std::string& function) {
  std::unique_ptr<Body>& body = bodies_[function];
  if (!body) {
    FunctionDef* definition = functions_.at(function);
    body = std::make_unique<Body>(definition->mutable_node_def(), definition);
  }
  return *body;
}

// Breadth first through the calls below `outer`; the way is short, the search bounded by the
// library's size.
std::vector<GraphIndex::Step> GraphIndex::way_to(NodeDef& outer, const std::string& rest) {
  struct Visit {
    std::string function;
    Step step;
    int before;
  };
  std::vector<Visit> queue;
  std::unordered_set<std::string> seen;
  const auto enqueue = [&](NodeDef& node, int before) {
    const std::vector<NameAttrList*> references = function_references(node);
    for (std::size_t i = 0; i < references.size(); ++i)
      if (has_function(references[i]->name()) && seen.insert(references[i]->name()).second)
        queue.push_back({references[i]->name(), {node.name(), i}, before});
  };
  enqueue(outer, -1);
  for (int at = 0; at < static_cast<int>(queue.size()); ++at) {
    Body& here = body(queue[static_cast<std::size_t>(at)].function);
    if (begins_in(here, rest)) {
      std::vector<Step> way;
      for (int i = at; i >= 0; i = queue[static_cast<std::size_t>(i)].before)
        way.push_back(queue[static_cast<std::size_t>(i)].step);
      std::ranges::reverse(way);
      return way;
    }
    for (const NodeDef* node : here.nodes())
      if (!is_dataset_op(node->op())) enqueue(*here.find(node->name()), at);
  }
  return {};
}

GraphIndex::Place GraphIndex::locate(const std::string& address, bool to_change) {
  Body* here = &main_;
  std::string rest = address;
  for (;;) {
    if (NodeDef* node = here->find(rest)) return {here, node};
    std::vector<Step> way;
    std::size_t end = rest.find('>');
    for (; end != std::string::npos; end = rest.find('>', end + 1)) {
      NodeDef* outer = here->find(std::string_view(rest).substr(0, end));
      if (outer) way = way_to(*outer, rest.substr(end + 1));
      if (!way.empty()) break;
    }
    if (way.empty()) return {};
    for (const Step& step : way) {
      NameAttrList* reference = function_references(*here->find(step.node))[step.reference];
      here = to_change ? &own_function(*reference) : &body(reference->name());
    }
    rest = rest.substr(end + 1);
  }
}

FunctionDef GraphIndex::copy_of(const std::string& function) {
  FunctionDef copy = *functions_.at(function);
  const auto open = bodies_.find(function);
  if (open != bodies_.end())
    for (const NodeDef* node : open->second->nodes()) *copy.add_node_def() = *node;
  return copy;
}

Body& GraphIndex::own_function(NameAttrList& reference) {
  if (uses_[reference.name()] > 1) {
    FunctionDef copy = copy_of(reference.name());
    const std::string fork = fresh_function_name(reference.name());
    copy.mutable_signature()->set_name(fork);
    --uses_[reference.name()];
    uses_[fork] = 1;
    reference.set_name(fork);
    add_function(std::move(copy));
  }
  return body(reference.name());
}

std::string GraphIndex::fresh_function_name(const std::string& name, const std::string& word) {
  // TensorFlow ends its names in "_NUMBER"; readers cut that off to find what the user wrote.
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const bool numbered = digits > 0 && digits < name.size() && name[digits - 1] == '_';
  std::string stem = numbered ? name.substr(0, digits) : name + "_";
  if (!word.empty()) stem += word + "_";
  int& number = next_number_[stem];
  while (has_function(stem + std::to_string(number))) ++number;
  return stem + std::to_string(number++);
}

void GraphIndex::add_function(FunctionDef function) {
  FunctionDef* added = graph_->mutable_library()->add_function();
  *added = std::move(function);
  functions_.emplace(added->signature().name(), added);
  for (NodeDef& node : *added->mutable_node_def()) count_uses(node);
}

void GraphIndex::set_function(NodeDef& node, const std::string& attribute,
                              const std::string& function) {
  NameAttrList& reference = *(*node.mutable_attr())[attribute].mutable_func();
  if (!reference.name().empty()) --uses_[reference.name()];
  reference.set_name(function);
  ++uses_[function];
}

void GraphIndex::drop_function(NodeDef& node, const std::string& attribute) {
  --uses_[node.attr().at(attribute).func().name()];
  node.mutable_attr()->erase(attribute);
}

std::vector<std::string> GraphIndex::functions() const {
  std::vector<std::string> names;
  for (const FunctionDef& function : graph_->library().function())
    names.push_back(function.signature().name());
  return names;
}

void GraphIndex::write_back() {
  main_.write_back();
  for (auto& [name, body] : bodies_) body->write_back();
  bodies_.clear();
}

}  // namespace plumber
