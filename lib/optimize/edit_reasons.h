// SPDX-License-Identifier: Apache-2.0
// Why a plan changes how a node runs, in numbers of the trace: one sentence of people's words for
// each edit.
#pragma once

#include <string>

#include "optimize/settle.h"

namespace plumber {

/// Seconds per root element of the plan; in the first epoch: while its caches fill.
double period_s(const Problem& problem, const Settled& settled, bool first_epoch);

/// Of a node with calls in flight. `first_epoch`: it runs then only, below a cache.
std::string why_calls(const Problem& problem, const Settled& settled, NodeId id, bool first_epoch);

/// Of a node whose work stays on the thread that asks for its elements.
std::string why_sequential(const Problem& problem, const NodeSetting& setting, NodeId id);

/// Of a new cache above the node.
std::string why_cached(const Problem& problem, const NodeSetting& setting, NodeId id);

/// Of a new size of the node, which is a prefetch.
std::string why_buffered(const Problem& problem, int size, NodeId id);

}  // namespace plumber
