// SPDX-License-Identifier: Apache-2.0
#include "rewrite/body.h"

#include <algorithm>
#include <unordered_set>

#include "rewrite/node_parts.h"

namespace plumber {

using tensorflow::FunctionDef;
using tensorflow::NodeDef;

Body::Body(google::protobuf::RepeatedPtrField<NodeDef>* nodes, FunctionDef* function)
    : field_(nodes), function_(function) {
  std::vector<NodeDef*> taken(static_cast<std::size_t>(nodes->size()));
  nodes->ExtractSubrange(0, nodes->size(), taken.data());
  for (NodeDef* node : taken) {
    const auto place = order_.insert(order_.end(), std::unique_ptr<NodeDef>(node));
    places_.emplace(node, place);
    if (!by_name_.emplace(node->name(), node).second)
      refuse("two nodes are named '" + node->name() + "'",
             "the program is damaged; record the trace again");
    for (const std::string& input : node->input()) note_reader(input, node);
  }
}

NodeDef* Body::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

NodeDef* Body::producer(std::string_view input) const { return find(input_node(input)); }

NodeDef* Body::value_of(std::string_view input) const {
  constexpr int kMostIdentities = 64;  // a longer chain, or a loop, is not followed to its end
  NodeDef* node = producer(input);
  for (int steps = kMostIdentities; node && node->op() == "Identity" && steps > 0; --steps)
    node = node->input_size() > 0 ? producer(node->input(0)) : nullptr;
  return node;
}

void Body::note_reader(std::string_view input, NodeDef* node) {
  readers_[std::string(input_node(input))].push_back(node);
}

bool Body::reads(const NodeDef& node, std::string_view name) const {
  return find(node.name()) == &node &&
         std::ranges::any_of(node.input(), [&](const std::string& input) {
           return !is_control(input) && input_node(input) == name;
         });
}

std::vector<NodeDef*> Body::readers(const NodeDef& node) {
  const auto found = readers_.find(node.name());
  if (found == readers_.end()) return {};
  std::vector<NodeDef*> result;
  std::vector<NodeDef*> kept;  // those with a control input stay in the list, but are no readers
  std::unordered_set<const NodeDef*> seen;
  for (NodeDef* reader : found->second) {
    if (!seen.insert(reader).second || find(reader->name()) != reader) continue;
    if (std::ranges::count(reader->input(), node.name(), input_node) > 0) kept.push_back(reader);
    if (reads(*reader, node.name())) result.push_back(reader);
  }
  found->second = kept;
  return result;
}

bool Body::is_returned(const NodeDef& node) const {
  if (!function_) return false;
  return std::ranges::any_of(function_->ret(), [&](const auto& result) {
    return input_node(result.second) == node.name();
  });
}

bool Body::is_shared(const NodeDef& node) {
  const std::vector<NodeDef*> all = readers(node);
  long uses = is_returned(node) ? 1 : 0;
  for (const NodeDef* reader : all)
    uses += std::ranges::count_if(reader->input(), [&](const std::string& input) {
      return !is_control(input) && input_node(input) == node.name();
    });
  return uses > 1;
}

std::string Body::output_of(const NodeDef& node) const {
  if (!is_function()) return node.name();
  const bool is_output = node.op() == "Const" || node.op() == "Identity" ||
                         node.op() == "FilterByLastComponentDataset";
  return node.name() + (is_output ? ":output:0" : ":handle:0");
}

std::string Body::fresh_name(const std::string& op) {
  int& number = next_number_[op];
  std::string name = "plumber/" + op + "_" + std::to_string(number);
  while (find(name)) name = "plumber/" + op + "_" + std::to_string(++number);
  ++number;
  return name;
}

NodeDef* Body::insert(Order::iterator before, NodeDef node) {
  const auto place = order_.insert(before, std::make_unique<NodeDef>(std::move(node)));
  NodeDef* added = place->get();
  places_.emplace(added, place);
  by_name_.emplace(added->name(), added);
  for (const std::string& input : added->input()) note_reader(input, added);
  return added;
}

NodeDef* Body::insert_before(const NodeDef* place, NodeDef node) {
  return insert(place ? places_.at(place) : order_.begin(), std::move(node));
}

NodeDef* Body::insert_after(const NodeDef* place, NodeDef node) {
  return insert(place ? std::next(places_.at(place)) : order_.begin(), std::move(node));
}

void Body::move_after(const NodeDef& place, const NodeDef& node) {
  order_.splice(std::next(places_.at(&place)), order_, places_.at(&node));
}

void Body::set_input(NodeDef& node, int index, const std::string& input) {
  node.set_input(index, input);
  note_reader(input, &node);
}

void Body::add_inputs(NodeDef& node, int index, const std::vector<std::string>& inputs) {
  const int before = node.input_size();
  for (const std::string& input : inputs) {
    node.add_input(input);
    note_reader(input, &node);
  }
  const auto all = node.mutable_input();
  std::rotate(all->pointer_begin() + index, all->pointer_begin() + before, all->pointer_end());
}

void Body::add_control(NodeDef& node, const std::string& input) {
  if (std::ranges::count(node.input(), input) > 0) return;
  node.add_input(input);
  note_reader(input, &node);
}

void Body::remove_inputs(NodeDef& node, int index, int count) {
  node.mutable_input()->DeleteSubrange(index, count);
}

void Body::replace_reads(const NodeDef& from, const std::string& to, const NodeDef* except) {
  for (NodeDef* node : readers(from)) {
    if (node == except) continue;
    for (int i = 0; i < node->input_size(); ++i)
      if (!is_control(node->input(i)) && input_node(node->input(i)) == from.name())
        set_input(*node, i, to);
  }
  if (!function_) return;
  for (auto& [name, value] : *function_->mutable_ret())
    if (input_node(value) == from.name()) value = to;
}

void Body::remove(NodeDef& node, const NodeDef* heir) {
  const auto readers = readers_.find(node.name());
  if (readers != readers_.end())
    for (NodeDef* reader : readers->second) replace_control(*reader, node.name(), heir);
  if (heir && readers != readers_.end())
    readers_[heir->name()].insert(readers_[heir->name()].end(), readers->second.begin(),
                                  readers->second.end());
  if (function_) replace_control_results(*function_, node.name(), heir);
  by_name_.erase(node.name());
  const auto place = places_.find(&node);
  removed_.splice(removed_.end(), order_, place->second);
  places_.erase(place);
}

std::vector<const NodeDef*> Body::nodes() const {
  std::vector<const NodeDef*> all;
  for (const auto& node : order_) all.push_back(node.get());
  return all;
}

void Body::write_back() {
  for (auto& node : order_) field_->AddAllocated(node.release());
  order_.clear();
  by_name_.clear();
  places_.clear();
  readers_.clear();
}

}  // namespace plumber
