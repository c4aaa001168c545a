// SPDX-License-Identifier: Apache-2.0
// Scales the hand-off constants to the trace: the machine of the moment hands over faster or slower
// than the calibrated one. Done only where dispatch is at least 20 % of the period; elsewhere the
// scale would be noise.
#pragma once

#include "ops/cost_model.h"

namespace plumber {

struct Observed {
  double period_s = 0;      // per root element; 0: unknown
  double cpu_s = 0;         // process CPU per root element; 0: unknown
  double think_time_s = 0;  // as traced, the recorder's own loop included
  Machine machine;
};

/// Lowers what a legacy interleave takes to hand an element on where the model is slower with it
/// than the program was, to what makes it as fast: its readers sleep less where they read one file.
void lower_legacy_handover(const Pipeline& pipeline, const Setting& traced,
                           const Observed& observed, Costs& costs);

/// Sets costs.hand_off.scale_w (so that the model gives the traced period) and scale_h (traced
/// CPU), both within 0.6 ... 1.6; scale_clamped if that range did not suffice.
void fit_hand_off(const Pipeline& pipeline, const Setting& traced, const Observed& observed,
                  Costs& costs);

}  // namespace plumber
