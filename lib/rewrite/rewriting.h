// SPDX-License-Identifier: Apache-2.0
// A program in the middle of a plan: the graph, and where the nodes that the plan names are by now.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph.pb.h"
#include "pipeline/plan.h"
#include "rewrite/graph_index.h"

namespace plumber {

struct Rewriting {
  explicit Rewriting(tensorflow::GraphDef* program) : graph(program) {}

  GraphIndex graph;
  // Addresses in the program as traced -> addresses now, for what edits have moved.
  std::unordered_map<std::string, std::string> moved;
  // MapAndBatch that was taken apart -> its map: where the function went. The batch keeps the name.
  std::unordered_map<std::string, std::string> function_part;
  std::unordered_map<std::string, std::string> removed;  // address -> id of the edit that did it
  // Node -> the topmost node that the plan has put above it: later insertions go on top of that.
  std::unordered_map<const tensorflow::NodeDef*, tensorflow::NodeDef*> top;
  // Function -> the control-flow op that a call of it reaches, empty if none; filled as asked.
  std::unordered_map<std::string, std::string> control_flow;
  int suggestions_left = 20;  // names are searched for the first faults only
};

/// The node that an edit names, to change. Refused if it is not there (any more).
GraphIndex::Place node_of(Rewriting& program, const std::string& address);

/// The same, but the map's part of a MapAndBatch that was taken apart.
GraphIndex::Place function_node_of(Rewriting& program, const std::string& address);

/// The edit's value as calls in flight: at least 1, or -1 for AUTOTUNE.
std::int64_t calls_of(const Edit& edit);

/// Gives the scalar input at `index` a value: in its Const if nothing else reads it, else in a
/// copy.
void set_scalar(Body& body, tensorflow::NodeDef& node, int index, std::int64_t value);

/// New constants right before `reader`, named as its inputs would name them.
std::vector<std::string> add_integers(Body& body, const tensorflow::NodeDef& reader,
                                      const std::vector<std::int64_t>& values);

/// Puts a node of that op above the one at `below`, on top of what the plan has put there already;
/// constants stand between the two. Returns it.
tensorflow::NodeDef* insert_above(Rewriting& program, GraphIndex::Place below,
                                  const std::string& op,
                                  const std::vector<tensorflow::NodeDef>& extra_inputs);

}  // namespace plumber
