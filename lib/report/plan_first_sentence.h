// SPDX-License-Identifier: Apache-2.0
// What a plan says first: what it brings, with how many changes, within which limits.
#pragma once

#include "optimize/optimize.h"
#include "report/report.h"

namespace plumber {

/// An option that the recorder had set is taken out again: no change that a person makes.
bool is_housekeeping(const Edit& edit);

Sentence first_sentence(const OptimizeResult& result);

}  // namespace plumber
