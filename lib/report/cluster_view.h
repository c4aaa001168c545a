// SPDX-License-Identifier: Apache-2.0
// The answers of `plumber cluster` as reports. docs/cluster.md says what each key means.
#pragma once

#include <string>
#include <vector>

#include "cluster/curves.h"
#include "cluster/model.h"
#include "cluster/noise.h"
#include "cluster/search_step.h"
#include "report/report.h"

namespace plumber {

/// CSV: the series.
Report noise_view(const NoiseResult& result);

/// The JSON is the model's file. CSV: the runs with what the laws say of them.
Report fit_view(const Model& model);

/// The laws over the range of the runs; CSV alone.
Report curves_view(const std::vector<CurvePoint>& curves);

/// CSV: every configuration that meets the constraints.
Report cluster_plan_view(const ClusterPlan& plan);

/// CSV: what was explored and what comes next.
Report search_view(const SearchOutcome& result);

// Parts of the views.

/// What a plan says in sentences.
Prose cluster_plan_prose(const ClusterPlan& plan);

/// "9.83 min", and hours from one on.
std::string hours_text(double hours);

/// "$0.25"; of less than 10 cents two digits, "$0.0046".
std::string dollars_text(double usd);

/// The sections of a fit that tell the laws of the iteration's time, with their comparison.
void add_iteration_laws(Report& report, const Model& model);

/// A field that is not null, for JSON alone.
Field key_value(const std::string& key, Value value);

/// A whole number of samples or workers, every digit: "12800".
std::string whole(double count);

/// [low, high].
Value pair_value(const Range& range);

/// The warnings: JSON alone, because text has them on standard error.
Section warnings_section(const std::vector<std::string>& warnings);

}  // namespace plumber
