// SPDX-License-Identifier: Apache-2.0
// A GraphDef and its functions, open for change. Nodes are found by their address: the name of a
// main-graph node, or OUTER>INNER for a node in a function that OUTER names (nested as deep as
// needed; calls between the two have no part in the address). A function that more than one node
// names is forked before a node in it is given out for change, so that an edit below one node never
// shows below another.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph.pb.h"
#include "rewrite/body.h"

namespace plumber {

class GraphIndex {
 public:
  struct Place {
    Body* body = nullptr;
    tensorflow::NodeDef* node = nullptr;  // nullptr: no such node
  };

  /// `graph` must outlive the index and is incomplete until write_back.
  explicit GraphIndex(tensorflow::GraphDef* graph);

  Body& main() { return main_; }

  /// The node at that address, to look at.
  Place find(const std::string& address) { return locate(address, false); }

  /// The node at that address, to change: functions on the way are forked where they are shared.
  Place open(const std::string& address) { return locate(address, true); }

  bool has_function(const std::string& name) const { return functions_.contains(name); }

  /// The body of a function of the library, to look at. The function must be there.
  Body& body(const std::string& function);

  /// The function that a node names, as a copy that only this node uses.
  Body& own_function(tensorflow::NameAttrList& reference);

  /// A whole function as it stands now, its nodes included.
  tensorflow::FunctionDef copy_of(const std::string& function);

  /// A free name that reads like `name` with `word` in it: "f_12", "keep" -> "f_keep_12".
  std::string fresh_function_name(const std::string& name, const std::string& word = "");

  /// Adds a function whose name is free.
  void add_function(tensorflow::FunctionDef function);

  /// Lets a node name another function.
  void set_function(tensorflow::NodeDef& node, const std::string& attribute,
                    const std::string& function);

  /// One more node names this function.
  void add_use(const std::string& function) { ++uses_[function]; }

  /// Takes the attribute that names a function from a node.
  void drop_function(tensorflow::NodeDef& node, const std::string& attribute);

  /// The functions of the library in its order.
  std::vector<std::string> functions() const;

  void write_back();

 private:
  // A node and which of the functions that it names.
  struct Step {
    std::string node;
    std::size_t reference = 0;
  };

  Place locate(const std::string& address, bool to_change);
  std::vector<Step> way_to(tensorflow::NodeDef& outer, const std::string& rest);
  void count_uses(tensorflow::NodeDef& node);

  tensorflow::GraphDef* graph_;
  std::unordered_map<std::string, tensorflow::FunctionDef*> functions_;
  std::unordered_map<std::string, int> uses_;  // references in the main graph and in functions
  std::unordered_map<std::string, int> next_number_;
  Body main_;
  std::map<std::string, std::unique_ptr<Body>> bodies_;
};

}  // namespace plumber
