// SPDX-License-Identifier: Apache-2.0
// Applies a plan to a program. The input is not touched: either all edits can be made and the
// result is a whole program that stock TensorFlow loads, with the same element types at its root;
// or nothing is returned and one Error(kInput) names every edit that cannot be made, its node and
// the way out. In any result every memory cache has a DummyMemoryCache of its own.
//
// Edits are made in order and name nodes of the program as traced. Insertions above one node stack:
// the first one is the lowest. A plan whose fingerprint is empty is bound to no program.
#pragma once

#include <string>

#include "pipeline/plan.h"

namespace tensorflow {
class GraphDef;
}

namespace plumber {

/// What messages call the two inputs: their files.
struct RewriteNames {
  std::string program = "program";
  std::string plan = "plan";
};

tensorflow::GraphDef apply_plan(const tensorflow::GraphDef& graph, const Plan& plan,
                                const RewriteNames& names = {});

}  // namespace plumber
