// SPDX-License-Identifier: Apache-2.0
// When a plan does without AUTOTUNE.
#include "optimize/autotune.h"

#include "catch2_any.h"
#include "optimize/optimize.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

/// A share of the time in the nodes goes to counting for AUTOTUNE.
SmallPipeline counted_training(double share) {
  SmallPipeline p = training();
  for (NodeCost& cost : p.analysis.costs.nodes) cost.bookkeeping_s = share * cost.work_s;
  return p;
}

std::string options_set(const OptimizeResult& result) {
  std::string text;
  for (const Edit& edit : result.plan.edits)
    if (edit.kind == EditKind::kSetOptions) text += edit.python + "\n";
  return text;
}

TEST_CASE("a plan that leaves nothing to tune saves what counting for AUTOTUNE takes") {
  const SmallPipeline p = counted_training(0.1);
  const OptimizeResult with = optimize(p.pipeline, p.analysis, within(2, 8e9));
  CHECK(options_set(with) == "options.autotune.enabled = False\n");
  const SmallPipeline uncounted = counted_training(0);
  const OptimizeResult without = optimize(uncounted.pipeline, uncounted.analysis, within(2, 8e9));
  CHECK(options_set(without).empty());
  CHECK(with.predicted.before_per_s == Approx(without.predicted.before_per_s));
  CHECK(with.predicted.after_per_s > 1.05 * without.predicted.after_per_s);
}

TEST_CASE("AUTOTUNE stays on where it has something to do, and where the user wants it") {
  SmallPipeline p = counted_training(0.1);
  OptimizeOptions kept = within(2, 8e9);
  kept.keep_autotune = true;
  CHECK(options_set(optimize(p.pipeline, p.analysis, kept)).empty());

  SmallPipeline in_function = counted_training(0.1);
  in_function.pipeline.nodes[1].parallelism = kAutotune;
  in_function.pipeline.nodes[1].outer = NodeId{2};  // no edit reaches it there
  CHECK(options_set(optimize(in_function.pipeline, in_function.analysis, within(2, 8e9))).empty());

  p.pipeline.options.autotune = false;  // switched off already
  const OptimizeResult off = optimize(p.pipeline, p.analysis, within(2, 8e9));
  CHECK(options_set(off).empty());
  CHECK(off.predicted.before_per_s >
        optimize(p.pipeline, p.analysis, kept).predicted.before_per_s * 0.99);
}

}  // namespace
}  // namespace plumber
