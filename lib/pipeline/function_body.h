// SPDX-License-Identifier: Apache-2.0
// The facts of one function's own body, and its calls: the step before function_facts.h.
#pragma once

#include <string>
#include <vector>

#include "graph.pb.h"
#include "pipeline/pipeline.h"

namespace plumber {

struct FunctionCall {
  std::string callee;
  bool by_dataset = false;  // the callee runs in an iterator of its own
  bool as_op = false;       // the op itself may name a function
  bool reaches = false;     // the call's value reaches a result of the caller
};

struct FunctionBody {
  FunctionFacts facts;  // own ones only
  std::vector<FunctionCall> calls;
  std::vector<std::string> reordering;  // shuffles and non-deterministic data sets in the body
  bool consumes_dataset = false;        // reduces a data set or takes elements of it
};

FunctionBody read_function_body(const tensorflow::FunctionDef& function);

}  // namespace plumber
