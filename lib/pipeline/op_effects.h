// SPDX-License-Identifier: Apache-2.0
// What an ordinary op (not a dataset op) does besides computing its outputs from its inputs: the
// table behind function_facts. It is a table by op and not the registry's "stateful" flag, which
// readers, handles and assertions carry too, nor an attribute called "seed": a fixed seed on a
// stateful random op still gives another value at each call, and a stateless one is a function of
// the seed it is given.
//
// An op that is in no list counts as pure if its name has no namespace: TensorFlow's own ops are
// almost all pure, and so are its mathematics. Add-ons name their ops "Package>Op"; those we do not
// know, and so they count as stateful.
#pragma once

#include <string_view>

namespace plumber {

enum class OpEffect {
  kPure,        // value decided by the inputs; readers, assertions, prints and handles too
  kRandom,      // another value at each call
  kStateRead,   // reads a variable or a table: pure as long as nothing writes it
  kStateWrite,  // writes a variable or a table
  kStateful,    // other state or effects: queues, iterators, stacks, written files, unknown add-ons
  kPython,      // calls Python, under its lock
};

OpEffect op_effect(std::string_view op);

/// Ops that TensorFlow's single-threaded executor refuses.
bool is_control_flow(std::string_view op);

/// How a kernel uses the process-wide intra-op pool, by what was measured in TensorFlow 2.21.
enum class Sharding {
  kNever,
  kWhenLarge,  // from about 100,000 output elements on: element-wise ops, reductions, Pad, ...
  kMatrix,     // from rank 2 on: Softmax
  kCube,       // from rank 3 on: Transpose
  kAlways,     // Conv2D, BatchMatMul, ScaleAndTranslate
};

Sharding sharding(std::string_view op);

}  // namespace plumber
