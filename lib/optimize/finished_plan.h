// SPDX-License-Identifier: Apache-2.0
// What every plan gets at its end, however it was found.
#pragma once

#include "pipeline/pipeline.h"
#include "pipeline/plan.h"

namespace plumber {

/// Edits that every rewritten program gets: caches with handles of their own, the tracer's options
/// taken out. Alone they change nothing.
void add_housekeeping(const Pipeline& pipeline, Plan& plan);

/// Sets ids "E1", "E2", ... and the lines of Python.
void number_edits(const Pipeline& pipeline, Plan& plan);

}  // namespace plumber
