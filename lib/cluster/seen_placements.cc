// SPDX-License-Identifier: Apache-2.0
#include "cluster/seen_placements.h"

#include "cluster/iteration_fit.h"

namespace plumber {
namespace {

SeenPlacements seen_in(const std::vector<TrainingRun>& runs) {
  SeenPlacements seen{false, false, false, false};
  for (const TrainingRun& run : runs) {
    const double nodes = placement_of(run).nodes;
    if (run.workers <= 1) continue;
    seen.within = seen.within || nodes <= 1;
    seen.packed = seen.packed || nodes < run.workers;
    seen.across = seen.across || nodes > 1;
    seen.wide = seen.wide || nodes > 2;
  }
  return seen;
}

bool is_told(const SeenPlacements& seen, const std::string& name) {
  if (name == "in_node" || name == "ar" || name == "br") return seen.within;
  if (name == "an" || name == "bn") return seen.across;
  if (name == "across" || name == "across_log2") return seen.wide;
  return true;
}

}  // namespace

Stretch stretch_of(const Placement& at) {
  if (at.workers <= 1) return Stretch::kOneWorker;
  if (at.nodes <= 1) return Stretch::kOneMachine;
  return at.nodes <= 2 ? Stretch::kTwoMachines : Stretch::kMoreMachines;
}

void keep_what_runs_tell(IterationModel& model, const std::vector<TrainingRun>& runs) {
  model.seen = seen_in(runs);
  std::erase_if(model.coefficients,
                [&](const Coefficient& one) { return !is_told(model.seen, one.name); });
}

}  // namespace plumber
