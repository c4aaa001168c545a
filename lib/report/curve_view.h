// SPDX-License-Identifier: Apache-2.0
// Rate against cores or memory as a report: text, JSON, or the table "curve" as CSV.
#pragma once

#include "optimize/rate_curve.h"
#include "report/report.h"

namespace plumber {

Report curve_view(const Pipeline& pipeline, const RateCurve& curve);

}  // namespace plumber
