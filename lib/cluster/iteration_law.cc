// SPDX-License-Identifier: Apache-2.0
#include "cluster/iteration_law.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plumber {
namespace {

constexpr std::array kLaws{IterationLaw::kScavenger, IterationLaw::kOverlap, IterationLaw::kErnest,
                           IterationLaw::kPollux};

IterationTime time_of(double compute_s, double iteration_s) {
  return {compute_s, iteration_s - compute_s, iteration_s};
}

// (Tc^g + Tn^g)^(1/g), scaled by the longer one so that no power overflows.
double overlapped(double compute_s, double network_s, double g) {
  const double longest = std::max(compute_s, network_s);
  if (longest <= 0) return 0;
  return longest *
         std::pow(std::pow(compute_s / longest, g) + std::pow(network_s / longest, g), 1 / g);
}

// `compute_s` of each pass; the last one overlaps with the network.
IterationTime overlapped_passes(double compute_s, double network_s, double g, const Placement& at) {
  const double last_s = overlapped(compute_s, network_s, g);
  return time_of((at.accumulation + 1) * compute_s, at.accumulation * compute_s + last_s);
}

double batch_of_pass(const Placement& at) {
  return at.global_batch / at.workers / (at.accumulation + 1);
}

IterationTime scavenger_time(const IterationModel& model, const Placement& at) {
  const double b = at.global_batch / at.workers, passes = at.accumulation + 1;
  if (model.coefficient("d0")) {
    const double again_s = at.accumulation * std::max(model.value("d0"), 0.0);
    const double compute_s = again_s + model.value("d1") * b;
    return time_of(compute_s, model.value("d0") + compute_s + model.value("d2") * at.workers);
  }
  const double compute_s = passes * model.value("c0") + model.value("c1") * b;
  const double sync_s =
      model.value("s0") + model.value("s1") * at.workers + model.value("s2") * at.global_batch;
  return time_of(compute_s, compute_s + sync_s);
}

IterationTime ernest_time(const IterationModel& model, const Placement& at) {
  const double passes = at.accumulation + 1;
  const double compute_s =
      passes * model.value("t0") + model.value("t1") * at.global_batch / at.workers;
  return time_of(compute_s, compute_s + model.value("t2") * std::log(at.workers) +
                                model.value("t3") * at.workers);
}

// The only number of workers that runs show where the placement is.
std::optional<double> only_seen(const SeenPlacements& seen, const Placement& at) {
  return at.nodes > 1 ? seen.only_across : seen.only_within;
}

double pollux_network(const IterationModel& model, const Placement& at) {
  if (at.workers <= 1) return 0;
  const bool across = at.nodes > 1;
  const double constant_s = model.value(across ? "an" : "ar");
  if (const auto only = only_seen(model.seen, at)) {
    return constant_s * std::max((at.workers - 1) / (*only - 1), 1.0);
  }
  return constant_s + model.value(across ? "bn" : "br") * std::max(at.workers - 2, 1e-8);
}

IterationTime pollux_time(const IterationModel& model, const Placement& at) {
  const double compute_s = model.value("ac") + model.value("bc") * batch_of_pass(at);
  return overlapped_passes(compute_s, pollux_network(model, at), model.value("g"), at);
}

double overlap_network(const IterationModel& model, const Placement& at) {
  if (at.workers <= 1) return 0;
  if (at.nodes <= 1) return model.value("in_node") * (at.workers - 1);
  const auto two = model.coefficient("two_nodes");
  if (two && at.nodes <= 2) return *two;
  if (two && !model.seen.wide) return *two * (at.nodes - 1);
  return std::max(model.value("across") + model.value("across_log2") * std::log2(at.nodes), 0.0);
}

IterationTime overlap_time(const IterationModel& model, const Placement& at) {
  const double compute_s =
      model.value("compute") + model.value("compute_per_sample") * batch_of_pass(at);
  return overlapped_passes(compute_s, overlap_network(model, at), model.value("g"), at);
}

// Workers of one machine whose network no run shows.
bool packing_is_unseen(const SeenPlacements& seen, const Placement& at) {
  return at.nodes <= 1 ? !seen.within : at.nodes < at.workers && !seen.packed;
}

Placement as_seen(const SeenPlacements& seen, const Placement& at) {
  Placement apart = at;
  if (packing_is_unseen(seen, at)) apart.nodes = at.workers;
  return apart;
}

IterationTime law_time(const IterationModel& model, const Placement& at) {
  switch (model.law) {
    case IterationLaw::kScavenger:
      return scavenger_time(model, at);
    case IterationLaw::kErnest:
      return ernest_time(model, at);
    case IterationLaw::kPollux:
      return pollux_time(model, at);
    case IterationLaw::kOverlap:
      return overlap_time(model, at);
  }
  return {};
}

}  // namespace

std::string law_word(IterationLaw law) {
  switch (law) {
    case IterationLaw::kScavenger:
      return "scavenger";
    case IterationLaw::kErnest:
      return "ernest";
    case IterationLaw::kPollux:
      return "pollux";
    case IterationLaw::kOverlap:
      return "overlap";
  }
  return "";
}

std::optional<IterationLaw> law_of(const std::string& word) {
  for (const IterationLaw law : kLaws) {
    if (law_word(law) == word) return law;
  }
  return std::nullopt;
}

std::optional<double> IterationModel::coefficient(std::string_view name) const {
  for (const Coefficient& one : coefficients) {
    if (one.name == name) return one.value;
  }
  return std::nullopt;
}

Determined determined(const IterationModel& model, const Placement& placement) {
  if (placement.workers <= 1) return Determined::kByRuns;
  const Placement at = as_seen(model.seen, placement);
  if (at.nodes > 1 && !model.seen.across) return Determined::kNot;
  if (at.nodes > placement.nodes) return Determined::kAtMostAsApart;
  const auto only = model.law == IterationLaw::kPollux ? only_seen(model.seen, at) : std::nullopt;
  if (only && at.workers != *only) return Determined::kAtMostAsGrown;
  const bool pairs = model.law == IterationLaw::kOverlap && at.nodes > 2 && !model.seen.wide;
  return pairs ? Determined::kAtMostAsPairs : Determined::kByRuns;
}

IterationTime iteration_time(const IterationModel& model, const Placement& placement) {
  const IterationTime time = law_time(model, as_seen(model.seen, placement));
  const double floor_s = placement.workers * model.update_s;
  return floor_s > time.iteration_s ? time_of(time.compute_s, floor_s) : time;
}

}  // namespace plumber
