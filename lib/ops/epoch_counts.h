// SPDX-License-Identifier: Apache-2.0
// Elements of one epoch as counted in passes that were seen to their end. Where the program does
// not tell (a filter, take_while, unique, windows of windows), nothing else does: ratios of counts
// hold for long epochs of one kind only.
//
// When the iterator of the whole data set has come to its end, so has every iterator below it that
// is read to its end: n_i = elements of those / their number. tf.data drops many iterators before
// the recorder can look; their counts follow from the node above:
//
//   map, prefetch, shuffle, ...   n_input = n
//   batch of B                    n_input in [(n - 1) B + 1, n B], in [n B, n B + B - 1] if the
//                                 remainder is dropped
//   take(k), n < k                n_input = n
//   skip(k), n > 0                n_input = n + k
//   repeat(k)                     n_input = n / k
#pragma once

#include <optional>

#include "pipeline/pipeline.h"

namespace plumber {

struct EpochCount {
  double least = 0, most = 0;
  bool operator==(const EpochCount&) const = default;
};

/// Nodes inside functions, and those whose end was not seen: nullopt.
PerNode<std::optional<EpochCount>> epoch_counts(const Pipeline& pipeline);

}  // namespace plumber
