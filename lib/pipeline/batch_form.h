// SPDX-License-Identifier: Apache-2.0
// Does a map's function give, called once with a batch, the batch of its results, bit for bit?
//
// Proof by induction over the body. A tensor is either a constant or of the element; a tensor of
// the element of rank r stands for one of rank r + 1 whose row i is what the call for element i
// computes. That holds for the arguments, and every op of the table keeps it:
//
//   element-wise ops   row i of the result depends on row i of the inputs alone, if all inputs that
//                      are of the element have one rank and constants have no higher one: broadcast
//                      aligns shapes at their ends. Only ops whose kernels round one value the same
//                      way alone and in a vector are listed: no exp, log, sqrt, tanh, sign; no cast
//                      of a float to a small or unsigned integer, which vectors saturate; nothing
//                      of bfloat16 or of complex numbers.
//   Pack               of tensors of the element; an axis counted from the front moves by one
//   ExpandDims         at an axis counted from the end
//   DecodeCSV, ParseExampleV2 (dense features of fixed shape): made for vectors of records
//
// So the results are the batch if each is of the element. All else, calls of other functions too,
// is refused with its op. A batch can only be made of elements of one shape: the shapes of the
// map's input must be known in full.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph.pb.h"

namespace plumber {

/// Ranks of the components of one element of a data set; nullopt if a shape is not known in full.
std::optional<std::vector<int>> element_ranks(const tensorflow::NodeDef& dataset);

/// The same of the rows of a batch, however many those are.
std::optional<std::vector<int>> row_ranks(const tensorflow::NodeDef& batches);

/// The elements are said to hold tensors alone, none of them sparse or ragged; of any shapes.
bool holds_plain_tensors(const tensorflow::NodeDef& dataset);

/// Why the function has no such form; empty: it has one.
std::string why_no_batch_form(const tensorflow::FunctionDef& function,
                              const std::vector<int>& argument_ranks);

/// Changes what a node of a function's body has to change for it: axes counted from the front.
void take_batch_form(tensorflow::NodeDef& node);

}  // namespace plumber
