// SPDX-License-Identifier: Apache-2.0
// One body of nodes, open for change: the main graph, or one function. Nodes keep their addresses
// and their order while others are put between them, so that any number of edits of a chain of any
// length stays linear in the program's size.
//
// How an output is named differs: "node" in the main graph, "node:handle:0" in a function. Control
// inputs ("^node") stand after all data inputs and are kept where they are.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph.pb.h"

namespace plumber {

class Body {
 public:
  /// Takes the nodes out of `nodes` until write_back. `function` is null for the main graph.
  /// Throws Error(kInput) if two nodes have one name.
  Body(google::protobuf::RepeatedPtrField<tensorflow::NodeDef>* nodes,
       tensorflow::FunctionDef* function);

  bool is_function() const { return function_ != nullptr; }
  tensorflow::FunctionDef* function() { return function_; }

  /// The node of that name; nullptr for a function's arguments and for what is not there.
  tensorflow::NodeDef* find(std::string_view name) const;

  /// The node behind a data or control input, or nullptr.
  tensorflow::NodeDef* producer(std::string_view input) const;

  /// The same, through Identity: what gives the value.
  tensorflow::NodeDef* value_of(std::string_view input) const;

  /// The nodes that read an output of `node` as data, each once.
  std::vector<tensorflow::NodeDef*> readers(const tensorflow::NodeDef& node);

  /// True if the function returns an output of this node.
  bool is_returned(const tensorflow::NodeDef& node) const;

  /// True if more than one input (or returned value) names an output of this node.
  bool is_shared(const tensorflow::NodeDef& node);

  /// How a reader names the (first) output of this node.
  std::string output_of(const tensorflow::NodeDef& node) const;

  /// "plumber/Op_n" with the first n that is free.
  std::string fresh_name(const std::string& op);

  /// Put a node before, after `place`; a null place means the front. The node's inputs are counted.
  tensorflow::NodeDef* insert_before(const tensorflow::NodeDef* place, tensorflow::NodeDef node);
  tensorflow::NodeDef* insert_after(const tensorflow::NodeDef* place, tensorflow::NodeDef node);

  /// Moves a node to the place right after another one.
  void move_after(const tensorflow::NodeDef& place, const tensorflow::NodeDef& node);

  void set_input(tensorflow::NodeDef& node, int index, const std::string& input);

  /// Puts data inputs before the one at `index` (the number of data inputs: behind the last one).
  void add_inputs(tensorflow::NodeDef& node, int index, const std::vector<std::string>& inputs);

  /// Adds the control input "^node" unless it is there.
  void add_control(tensorflow::NodeDef& node, const std::string& input);

  void remove_inputs(tensorflow::NodeDef& node, int index, int count);

  /// All that reads the first output of `from` (the function's results too) reads `to` instead,
  /// except the node `except`. Control inputs stay with `from`.
  void replace_reads(const tensorflow::NodeDef& from, const std::string& to,
                     const tensorflow::NodeDef* except = nullptr);

  /// Takes out a node that nothing reads as data; control inputs on it go to the node `heir`, or
  /// away if that is null.
  void remove(tensorflow::NodeDef& node, const tensorflow::NodeDef* heir);

  /// The nodes in order.
  std::vector<const tensorflow::NodeDef*> nodes() const;

  /// Gives the nodes back to the field that they came from; the body is empty then.
  void write_back();

 private:
  using Order = std::list<std::unique_ptr<tensorflow::NodeDef>>;

  tensorflow::NodeDef* insert(Order::iterator before, tensorflow::NodeDef node);
  void note_reader(std::string_view input, tensorflow::NodeDef* node);
  bool reads(const tensorflow::NodeDef& node, std::string_view name) const;

  google::protobuf::RepeatedPtrField<tensorflow::NodeDef>* field_;
  tensorflow::FunctionDef* function_;
  Order order_;
  Order removed_;  // kept: lists of readers may still name them
  std::unordered_map<std::string_view, tensorflow::NodeDef*> by_name_;
  std::unordered_map<const tensorflow::NodeDef*, Order::iterator> places_;
  // By the name of what is read. Entries of nodes that read something else by now are dropped when
  // the list is next looked at.
  std::unordered_map<std::string, std::vector<tensorflow::NodeDef*>> readers_;
  std::unordered_map<std::string, int> next_number_;
};

}  // namespace plumber
