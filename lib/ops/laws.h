// SPDX-License-Identifier: Apache-2.0
// Operational laws that every sound trace obeys (design §1, invariant 4). A trace that breaks one
// is reported with the node and the amount; its analysis goes on.
#pragma once

#include <string>
#include <vector>

#include "ops/analysis.h"
#include "ops/counter_window.h"

namespace plumber {

/// One sentence for each broken law:
///   utilisation    U_i <= p_i, and sum U <= cores
///   forced flow    counted elements agree with structural visit ratios
///   conservation   bytes out = bytes in across prefetch, repeat, skip, ... that pass elements on
///   total          sum of node CPU <= process CPU
std::vector<std::string> broken_laws(const Pipeline& pipeline, const CounterWindow& window,
                                     const Analysis& analysis);

}  // namespace plumber
