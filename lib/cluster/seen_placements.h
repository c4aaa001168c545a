// SPDX-License-Identifier: Apache-2.0
// Which placements a set of runs shows, and which coefficients of a law it therefore tells: the
// network within a machine (overlap: in_node; pollux: ar, br), across machines (pollux: an, bn) and
// across more than two (overlap: across, across_log2). How pollux's network grows with the workers
// (br, bn) takes two numbers of them. A coefficient that no run tells is absent.
#pragma once

#include <vector>

#include "cluster/iteration_law.h"
#include "cluster/runs.h"

namespace plumber {

/// Where the network is another.
enum class Stretch { kOneWorker, kOneMachine, kTwoMachines, kMoreMachines };
Stretch stretch_of(const Placement& at);

/// Notes in the law what the runs show, and takes the coefficients away that they do not tell.
void keep_what_runs_tell(IterationModel& model, const std::vector<TrainingRun>& runs);

}  // namespace plumber
