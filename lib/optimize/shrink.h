// SPDX-License-Identifier: Apache-2.0
// A program that holds more than its memory before anything is planned: it is made to hold less,
// and nothing is added. Prefetches go first, down to two elements and then to one, those with the
// largest elements first; then calls in flight, so that the slowest of the nodes is as fast as the
// memory allows. Shuffles keep their buffers: a smaller one mixes elements that stand closer
// together, which is another distribution of their order.
#pragma once

#include "optimize/settle.h"

namespace plumber {

/// What does not fit even so is left with one element in each prefetch and one call at a time.
void shrink(const Problem& problem, Settled& settled);

}  // namespace plumber
