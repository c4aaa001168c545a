// SPDX-License-Identifier: Apache-2.0
// A settled plan as edits, each with its reason (numbers of the trace), what it brings (the rate
// with it less the rate without it, everything else kept) and the line of Python to change.
#pragma once

#include "optimize/settle.h"

namespace plumber {

/// Edits of the settled plan, source first, options last.
Plan build_plan(const Problem& problem, const Settled& settled);

}  // namespace plumber
