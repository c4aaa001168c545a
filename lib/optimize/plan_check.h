// SPDX-License-Identifier: Apache-2.0
// Does a plan keep the program's elements (docs/design.md, invariant 1)? What `plumber optimize`
// writes does; a person may have changed it since. Refused unless the plan's own permissions say
// otherwise:
//
//   insert_cache     above random values or Python (pyfunc-cache), above an order that no shuffle
//                    mends (frozen-order), above an endless data set
//   set_parallelism, convert, parallel_inline, parallel_unbounded, move_into_function
//                    of functions that keep state or draw from a seed (stateful-parallel)
//   set_buffer       a smaller buffer for a shuffle, another one for a seeded one (reshuffle)
//   remove           a cache above what changes from epoch to epoch (unfreeze)
//   unfuse, set_options map_and_batch_fusion = false
//                    below a node that ignores errors: others would be counted
//   set_options      deterministic = false (nondeterministic)
//   any              what parts a seeded shuffle from its repeat (optimize/seeded_order.h)
//
// Whether an edit can be made at all is the rewriter's business (rewrite/apply_plan.h).
#pragma once

#include <string>

#include "ops/analysis.h"
#include "pipeline/plan.h"

namespace plumber {

/// Throws one Error(kInput) that names every such edit. `name` is what messages call the plan.
void check_plan(const Pipeline& pipeline, const Analysis& analysis, const Plan& plan,
                const std::string& name);

}  // namespace plumber
