// SPDX-License-Identifier: Apache-2.0
// The nodes with all that the analysis knows of them, source first; people see the columns that
// matter when they look for a bottleneck.
//
//   node                      function  per root    time  cores  per core  par    bytes     cache
//   ParallelInterleaveV4/_12                  16  45.6 us   0.04   1.37k/s  1  39.4 KiB  61.7 MiB
//   ParallelMapDatasetV2/_14  _parse          16   979 us   0.87    63.8/s  1   588 KiB limits
#pragma once

#include "ops/analysis.h"
#include "report/report.h"

namespace plumber {

Section node_table(const Pipeline& pipeline, const Analysis& analysis);

/// True if the trace has no numbers of the node: what it would count is unknown, not 0.
bool lacks_counters(const Node& node);

}  // namespace plumber
