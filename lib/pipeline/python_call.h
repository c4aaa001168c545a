// SPDX-License-Identifier: Apache-2.0
// The Python call that makes a node, as a user of TensorFlow would write it, for advice: what the
// program does not tell (a lambda, a path) is `...`, which Python reads too.
//
//   .map(_parse)   .batch(16)   tf.data.TFRecordDataset(...)   .snapshot(...)
//
// An op that has no Python of its own, because TensorFlow makes it or keeps it for old programs,
// is called by its name alone: AssertNextDataset.
#pragma once

#include <string>

#include "pipeline/pipeline.h"

namespace plumber {

/// ".map(_parse)", ".cache()", ".prefetch(tf.data.AUTOTUNE)".
std::string python_call(const Node& node);

/// The call with so many calls in flight; empty where Python cannot say it. A filter has no such
/// argument: a parallel map computes its flags.
///
///   .map(_parse, num_parallel_calls=4)
///   .map(lambda x: (x, keep(x)), num_parallel_calls=4).filter(lambda x, kept: kept)...
std::string python_call_in_parallel(const Node& node, const std::string& calls);

/// A map with each call in flight on a thread of its own.
std::string python_call_on_own_threads(const Node& map, const std::string& calls);

/// A call, and where to put it: ".cache()  # after .map(_parse)".
std::string python_at(const std::string& call, const std::string& place);

}  // namespace plumber
