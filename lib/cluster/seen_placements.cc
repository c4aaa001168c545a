// SPDX-License-Identifier: Apache-2.0
#include "cluster/seen_placements.h"

#include <set>

#include "cluster/iteration_fit.h"

namespace plumber {
namespace {

SeenPlacements seen_in(const std::vector<TrainingRun>& runs) {
  SeenPlacements seen{false, false, false, false, {}, {}};
  std::set<double> within, across;  // numbers of workers
  for (const TrainingRun& run : runs) {
    const double nodes = placement_of(run).nodes;
    if (run.workers <= 1) continue;
    (nodes > 1 ? across : within).insert(run.workers);
    seen.within = seen.within || nodes <= 1;
    seen.packed = seen.packed || nodes < run.workers;
    seen.across = seen.across || nodes > 1;
    seen.wide = seen.wide || nodes > 2;
  }
  if (within.size() == 1) seen.only_within = *within.begin();
  if (across.size() == 1) seen.only_across = *across.begin();
  return seen;
}

bool is_told(const SeenPlacements& seen, const std::string& name) {
  if (name == "in_node" || name == "ar") return seen.within;
  if (name == "br") return seen.within && !seen.only_within;
  if (name == "an") return seen.across;
  if (name == "bn") return seen.across && !seen.only_across;
  if (name == "across" || name == "across_log2") return seen.wide;
  return true;
}

// Growth that is not told: what the fit took for it at the only number of workers is constant.
void fold_growth(IterationModel& model, const char* constant, const char* growth,
                 const std::optional<double>& only) {
  if (!only) return;
  const double growth_s = model.value(growth) * (*only - 2);
  for (Coefficient& one : model.coefficients) {
    if (one.name == constant) one.value += growth_s;
  }
}

}  // namespace

Stretch stretch_of(const Placement& at) {
  if (at.workers <= 1) return Stretch::kOneWorker;
  if (at.nodes <= 1) return Stretch::kOneMachine;
  return at.nodes <= 2 ? Stretch::kTwoMachines : Stretch::kMoreMachines;
}

void keep_what_runs_tell(IterationModel& model, const std::vector<TrainingRun>& runs) {
  model.seen = seen_in(runs);
  fold_growth(model, "an", "bn", model.seen.only_across);
  fold_growth(model, "ar", "br", model.seen.only_within);
  std::erase_if(model.coefficients,
                [&](const Coefficient& one) { return !is_told(model.seen, one.name); });
}

}  // namespace plumber
