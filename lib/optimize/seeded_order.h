// SPDX-License-Identifier: Apache-2.0
// TensorFlow makes one op of a shuffle and the finite repeat above it (ShuffleAndRepeat), which
// draws another number of seeds when it ends: with a fixed seed the order of the second iterator is
// another one than that of the two apart. So a plan neither parts such a pair nor brings one
// together. What does nothing (an identity map, take(-1), skip(0), shard(1), repeat(1)) stands
// between them as if it were not there: TensorFlow takes it out first. An endless repeat never
// ends, and draws the same either way (both measured on TensorFlow 2.21).
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "pipeline/pipeline.h"

namespace plumber {

/// The node that another one reads, if nothing new stands between.
using NodeBelow = std::function<std::optional<NodeId>(NodeId)>;

/// Shuffles whose order depends on the repeat that stands right above them.
std::set<NodeId> shuffles_with_repeat(const Pipeline& pipeline, const NodeBelow& below);

/// The same by name, of the pipeline as it is.
std::set<std::string> shuffles_with_repeat(const Pipeline& pipeline);

/// Nodes that stand between such a shuffle and its repeat, the shuffle included: nothing may be put
/// above them.
PerNode<bool> below_their_repeat(const Pipeline& pipeline);

constexpr const char* kOtherOrder =
    "TensorFlow makes one op of a shuffle and its repeat, which draws its seeds in another way";

}  // namespace plumber
