// SPDX-License-Identifier: Apache-2.0
// Readers that wait for their files in bursts: a read brings B records at once and then takes its
// time. A deterministic interleave takes its records in turn, and each of its readers is at most b
// records ahead (its buffer: 2 blocks unless the program says otherwise), so that all of them wait
// together and what stands above stands still meanwhile. s per root element:
//
//   inner segment / readers + w (1 - b / B) r
//
// r is the longest of the other bounds, of the cores what reading leaves; w the share of the inner
// segment that is waiting, from a half on.
//
// With 32 readers of 20 kB records (B = 13) that wait 50 ms for each 256 KiB this is 2.3 ms for a
// batch of 16 where the longest bound is 1.9 ms; 2.5 ms were measured (2 cores, TensorFlow 2.21).
#pragma once

#include "ops/cost_model.h"

namespace plumber {

/// Lengthens the bound of each interleave whose readers wait in bursts.
void add_bursts(const Pipeline& pipeline, const Costs& costs, const Setting& setting,
                Evaluation& result);

}  // namespace plumber
