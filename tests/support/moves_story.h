// SPDX-License-Identifier: Apache-2.0
// The moves of a pipeline as text, one line each: what is made, then what is not and why.
#pragma once

#include <fmt/format.h>

#include <string>

#include "optimize/moves.h"
#include "small_pipeline.h"

namespace plumber {

inline OptimizeOptions without_caches(double cores = 2) {
  OptimizeOptions options = within(cores, 8e9);
  options.allow_cache = false;
  return options;
}

inline std::string moves_story(const SmallPipeline& p,
                               const OptimizeOptions& options = without_caches()) {
  const ChosenMoves chosen = choose_moves(p.pipeline, p.analysis, options);
  std::string text;
  for (const Edit& edit : chosen.edits)
    text += fmt::format("{} {} {}\n", edit_word(edit.kind), edit.node, edit.to);
  for (const Rejected& rejected : chosen.rejected)
    text += fmt::format("not {} {}: {}\n", rejected.edit, rejected.node, rejected.reason);
  return text;
}

}  // namespace plumber
