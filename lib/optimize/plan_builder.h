// SPDX-License-Identifier: Apache-2.0
// A settled plan as edits, each with its reason (numbers of the trace), what it brings (the rate
// with it less the rate without it, everything else kept) and the line of Python to change.
#pragma once

#include "optimize/settle.h"

namespace plumber {

/// Edits of the settled plan, source first, options last.
Plan build_plan(const Problem& problem, const Settled& settled);

/// Edits that every rewritten program gets: caches with handles of their own, the tracer's options
/// taken out. Alone they change nothing.
void add_housekeeping(const Pipeline& pipeline, Plan& plan);

/// Sets ids "E1", "E2", ... and the lines of Python.
void number_edits(const Pipeline& pipeline, Plan& plan);

}  // namespace plumber
