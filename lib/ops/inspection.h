// SPDX-License-Identifier: Apache-2.0
// What the rules behind findings() look at (rules.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/above.h"
#include "ops/analysis.h"
#include "ops/randomness.h"
#include "pipeline/pipeline.h"

namespace plumber {

struct Inspection {
  const Pipeline& pipeline;
  const Analysis& analysis;
  Machine machine;
  Evaluation now;             // as traced; period 0 without counters
  PerNode<Randomness> below;  // existing caches looked through
  PerNode<Above> above;
  PerNode<double> held_bytes;  // by the ledger
};

Inspection inspect(const Pipeline& pipeline, const Analysis& analysis);

/// What another setting would bring, in root elements per second; nullopt if that is not known or
/// less than 2 %.
std::optional<double> gain_per_s(const Inspection& look, const Setting& changed);
std::optional<double> gain_per_s(const Inspection& look, const Costs& changed);
std::optional<double> gain_between(const Inspection& look, const Evaluation& changed);

/// "42 %": a part of the period, of which there must be one.
std::string share_of_period(const Inspection& look, double part_s);

}  // namespace plumber
