// SPDX-License-Identifier: Apache-2.0
// The order of a moved pipeline's nodes, source first, and who reads whom: what every move changes.
#pragma once

#include <vector>

#include "optimize/moved.h"

namespace plumber {

/// `order`: the old ids of the nodes that stay, in their new places. All else follows.
void reindex(Moved& moved, const std::vector<NodeId>& order);

std::vector<NodeId> all_of(const Pipeline& pipeline);

/// The order in which the node stands right after `place`.
std::vector<NodeId> put_after(std::vector<NodeId> order, NodeId node, NodeId place);

/// Whoever reads `from` reads `to`, but for one node.
void read_instead(Pipeline& p, NodeId from, NodeId to, NodeId except);

}  // namespace plumber
