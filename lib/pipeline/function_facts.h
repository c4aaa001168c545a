// SPDX-License-Identifier: Apache-2.0
// What the functions of a program reach through any call: random, stateful and Python ops, control
// flow, kernels that shard. Facts only; ops/cache_class.h and the optimiser judge them.
//
// A function's facts are those of its own body and of all that it calls: PartitionedCall, the
// branches of If, Case and While, and whatever else stands in a `func` or `list(func)` attribute.
// Two kinds of facts stop early. Functions of data sets that are made inside a function run in
// iterators of their own, so their ops, control flow and kernels do not count here (they are nodes
// of the pipeline). And a random op counts only where its value reaches a result.
//
// Functions may call each other in circles: facts are found once for each group of functions that
// reach each other (Tarjan), callees first, so the whole library takes linear time.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph.pb.h"
#include "pipeline/pipeline.h"

namespace plumber {

/// The functions of a library by name, and their facts. Keeps pointers into the library.
class FunctionIndex {
 public:
  explicit FunctionIndex(const tensorflow::FunctionDefLibrary& library);

  /// The function of that name (the first, if a damaged library has several), or nullptr.
  const tensorflow::FunctionDef* find(const std::string& name) const;

  /// Its facts, or nullptr.
  const FunctionFacts* facts(const std::string& name) const;

 private:
  std::unordered_map<std::string, int> place_;
  std::vector<const tensorflow::FunctionDef*> functions_;
  std::vector<FunctionFacts> facts_;
};

/// The facts of function `name`; of one that the library lacks only that it is missing. A list of
/// names holds the first 16 in alphabetical order; `ops` stops at a million.
FunctionFacts function_facts(const FunctionIndex& functions, const std::string& name);

/// What the user wrote: "_parse" of "__inference_Dataset_map__parse_69", "lambda" of a lambda; ""
/// where TensorFlow itself wrote the function or the name of a class stands in its place.
std::string source_name(const std::string& function_name);

}  // namespace plumber
