// SPDX-License-Identifier: Apache-2.0
// The laws of a model as numbers, to be plotted: noise and epochs against the batch, and the parts
// of an iteration against workers and batch, over the range of the runs.
#pragma once

#include <string>
#include <vector>

#include "cluster/model.h"

namespace plumber {

struct CurvePoint {
  std::string machine;
  Placement at;
  std::optional<double> noise;
  std::optional<double> epochs;
  IterationTime time;
};

/// By machine type, workers (those of the runs, or 33 of many) and batch (the runs' own and steps
/// of about 9 %).
std::vector<CurvePoint> curves_of(const Model& model);

}  // namespace plumber
