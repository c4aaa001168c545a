// SPDX-License-Identifier: Apache-2.0
// Calls with less work than handing them to another thread takes. Where a plan runs as fast with
// them on their caller's thread, alone or behind a prefetch, that leaves cores to the program that
// reads the pipeline; and the threads that such calls wake are in the way of the others more than a
// sum of times tells (measured on 2 cores: 28k and 47k elements a second where both were predicted
// as fast).
#pragma once

#include "optimize/search.h"

namespace plumber {

/// Moves such calls of the best plan, within `memory_bytes` and the tolerance of the fastest, each
/// where that saves core seconds. Programs with many choices stay as they are.
void move_short_calls(const Problem& problem, const Choices& choices, double memory_bytes,
                      SearchResult& found);

}  // namespace plumber
