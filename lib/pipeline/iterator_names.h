// SPDX-License-Identifier: Apache-2.0
// Names of iterators in a ModelProto, and which of the program's nodes they may stand for: "Map",
// "ForeverRepeat", "ParallelMapV2", "Zip[2]".
#pragma once

#include <string_view>

#include "pipeline/pipeline.h"

namespace plumber {

/// "Zip" of "Zip[2]".
std::string_view without_index(std::string_view name);

/// The name that the op's iterators have; empty if it has none.
std::string_view model_name(const Node& node);

/// True if iterators of that name stand for the node, alone and as it is or run in parallel by
/// TensorFlow's own choice.
bool same_name(const Node& node, std::string_view name);

/// Iterators that write or read a snapshot: parts of a snapshot or load, no nodes of the program.
bool is_snapshot_part(std::string_view name);

/// True for the nodes that have such parts.
bool has_snapshot_parts(const Node& node);

}  // namespace plumber
