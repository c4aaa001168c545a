// SPDX-License-Identifier: Apache-2.0
// What has changed between two analyses or plans, as a report.
#pragma once

#include "report/compare.h"
#include "report/report.h"

namespace plumber {

Report diff_view(const Comparison& comparison);

}  // namespace plumber
