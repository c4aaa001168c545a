// SPDX-License-Identifier: Apache-2.0
// How far the size of a node may be from the estimate (the paper's section on memory gives 1 % at
// 1 % of the files): half the width of a 95 % interval, as a share of it.
//
//   elements   none where the program tells, or a pass was seen to its end;
//              by the bytes of files: 2 sqrt((1 - f) / m), of m records seen, a share f of all;
//              by whole files: t cv sqrt((1 - f) / k), of k files read to their end, cv the spread
//              of their records beside three files of spread 1/2, t Student's;
//              measured ratios (filter, unbatch): 2 sqrt((1 - f) (1 - r) / m), r at most 1
//   bytes      2 c sqrt((1 - f) / m), c = 1/2: elements that vary by half of their mean
//
// Independent errors add as squares. The bytes of a file's own records are known by its size, less
// their framing: 1 %.
#pragma once

#include <optional>

#include "ops/analysis.h"
#include "pipeline/pipeline.h"

namespace plumber {

struct SizeError {
  double elements = 0;  // of elements_per_epoch
  double bytes = 0;     // of materialized_bytes
};

/// nullopt where the elements of an epoch are no known number. `nodes` holds visit ratios and
/// elements per epoch.
PerNode<std::optional<SizeError>> size_errors(const Pipeline& pipeline,
                                              const PerNode<NodeAnalysis>& nodes);

}  // namespace plumber
