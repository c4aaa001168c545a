// SPDX-License-Identifier: Apache-2.0
// Nested concatenations as a balanced tree. Concatenation is associative: the leaves keep their
// order, and an element passes only the concatenations above its own data set: about log2 n of them
// instead of up to n - 1.
#pragma once

#include "optimize/moved.h"

namespace plumber {

struct BalanceGain {
  std::size_t leaves = 0;
  int depth_before = 0, depth_after = 0;
};

/// Balances the nest under `top`, whose inner nodes nothing else reads. Fewer than four leaves are
/// left as they are.
BalanceGain balance_concatenations(Moved& moved, NodeId top);

}  // namespace plumber
