// SPDX-License-Identifier: Apache-2.0
// The section "buffers" of an analysis: how full the buffers between threads were.
#pragma once

#include "ops/analysis.h"
#include "report/report.h"

namespace plumber {

Section buffer_table(const Pipeline& pipeline, const Analysis& analysis);

}  // namespace plumber
