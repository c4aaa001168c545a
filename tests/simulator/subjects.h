// SPDX-License-Identifier: Apache-2.0
// What plans are made for on simulated machines: traces, pipelines written by hand, and variants of
// both with other demands, cycles and batches, so that rules are not made for a few traces.
#pragma once

#include <string>
#include <vector>

#include "ops/analysis.h"

namespace plumber::simulated {

struct Subject {
  std::string name;
  Pipeline pipeline;
  Analysis analysis;
};

/// The traces and pipelines whose figures docs/results.md gives.
std::vector<Subject> subjects();

/// Others: the remaining traces, and variants.
std::vector<Subject> other_subjects();

/// By the name of a trace or a pipeline, with what is changed of it: "jpeg, work x 5, cycle 2,
/// batch x 4". Work: of all nodes. Cycle: of every interleave of the main graph. Batch: what stands
/// below the last batch is asked for so many times as often, and what stands above works on more.
Subject subject_of(const std::string& name);

}  // namespace plumber::simulated
