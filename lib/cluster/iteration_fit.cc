// SPDX-License-Identifier: Apache-2.0
#include "cluster/iteration_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "cluster/seen_placements.h"

namespace plumber {
namespace {

constexpr std::size_t kMostRefits = 20;      // more points are left out in groups
constexpr std::size_t kEnoughToCompare = 6;  // points left out; fewer decide nothing
constexpr double kWorthSwitching = 0.9;      // a later law must be this much better than an earlier
constexpr std::array kInOrder{IterationLaw::kScavenger, IterationLaw::kOverlap,
                              IterationLaw::kErnest, IterationLaw::kPollux};

double error_at(const IterationModel& model, const TrainingRun& run) {
  return std::abs(iteration_time(model, placement_of(run)).iteration_s / *run.iteration_s - 1);
}

void add_quality(LawResult& result, const std::vector<TrainingRun>& runs) {
  double mean = 0, rss = 0, tss = 0;
  for (const TrainingRun& run : runs) mean += *run.iteration_s / static_cast<double>(runs.size());
  for (const TrainingRun& run : runs) {
    const double residual =
        *run.iteration_s - iteration_time(*result.model, placement_of(run)).iteration_s;
    result.residuals_s.push_back(residual);
    result.mean_error += error_at(*result.model, run) / static_cast<double>(runs.size());
    rss += residual * residual;
    tss += (*run.iteration_s - mean) * (*run.iteration_s - mean);
  }
  result.r2 = tss > 0 ? 1 - rss / tss : 1;
}

// Points that can be left out without losing the only sight of a stretch, which would judge a law
// by a guess. The same points for every law.
std::vector<std::size_t> spare_points(const std::vector<TrainingRun>& runs) {
  std::map<Stretch, std::size_t> seen;
  for (const TrainingRun& run : runs) ++seen[stretch_of(placement_of(run))];
  std::vector<std::size_t> spare;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (seen[stretch_of(placement_of(runs[i]))] > 1) spare.push_back(i);
  }
  return spare;
}

void add_leave_one_out(LawResult& result, const std::vector<TrainingRun>& runs,
                       const IterationOptions& options) {
  const std::vector<std::size_t> spare = spare_points(runs);
  const std::size_t groups = std::min(spare.size(), kMostRefits);
  double sum = 0;
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<bool> left(runs.size(), false);
    for (std::size_t i = group; i < spare.size(); i += groups) left[spare[i]] = true;
    std::vector<TrainingRun> kept;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!left[i]) kept.push_back(runs[i]);
    }
    std::string why;
    const auto model = fit_only(result.law, kept, options, why);
    if (!model) break;
    for (std::size_t i = 0; i < runs.size(); ++i) sum += left[i] ? error_at(*model, runs[i]) : 0;
    if (group + 1 == groups) result.leave_one_out = sum / static_cast<double>(spare.size());
  }
  if (!result.leave_one_out && result.why_not.empty())
    result.why_not = "not enough points to leave one out";
}

std::string reasons_of(const std::vector<LawResult>& results) {
  std::string text;
  for (const LawResult& result : results) {
    text += (text.empty() ? "" : "; ") + law_word(result.law) + ": " + result.why_not;
  }
  return text;
}

// Runs on both sides of the border where the network changes: a straight line over it is known to
// miss by 14 to 34 %, so only the laws with a border are asked.
bool cross_border(const std::vector<TrainingRun>& runs) {
  bool within = false, across = false;
  for (const TrainingRun& run : runs) {
    const Stretch stretch = stretch_of(placement_of(run));
    within = within || stretch == Stretch::kOneMachine || (run.nodes && run.workers == 1);
    across = across || stretch > Stretch::kOneMachine;
  }
  return within && across;
}

bool has_border(IterationLaw law) {
  return law == IterationLaw::kOverlap || law == IterationLaw::kPollux;
}

// The least leave-one-out error, where an earlier law of the list stays unless a later one is
// clearly better; a law without that error comes after all that have one. A handful of points
// across a border is too few to compare by, and the first law with a border stays.
const LawResult* best_of(const std::vector<LawResult>& results,
                         const std::vector<TrainingRun>& runs) {
  const bool border = cross_border(runs);
  const bool comparable = !border || spare_points(runs).size() >= kEnoughToCompare;
  const LawResult* best = nullptr;
  for (const LawResult& result : results) {
    if (!result.model) continue;
    if (!best || (border && !has_border(best->law))) {
      best = &result;
    } else if (comparable && result.leave_one_out && (!border || has_border(result.law)) &&
               (!best->leave_one_out ||
                *result.leave_one_out < kWorthSwitching * *best->leave_one_out)) {
      best = &result;
    }
  }
  return best;
}

// What best_of() went by.
std::string why_best(const LawResult& best, const std::vector<LawResult>& results,
                     const std::vector<TrainingRun>& runs) {
  const bool border = cross_border(runs) && has_border(best.law);
  const std::string among = border ? ", of the laws that know the border of a machine" : "";
  const LawResult* next = nullptr;
  for (const LawResult& one : results) {
    if (&one == &best || !one.leave_one_out || (border && !has_border(one.law))) continue;
    if (!next || *one.leave_one_out < *next->leave_one_out) next = &one;
  }
  if (!best.leave_one_out || (border && spare_points(runs).size() < kEnoughToCompare)) {
    return "too few points to compare by; it is the first that the runs determine" + among;
  }
  if (!next) return "the only one that can be compared" + among;
  const double less = 1 - *best.leave_one_out / *next->leave_one_out;
  if (less >= 0) {
    return fmt::format(
        "it misses points left out of the fit by {:.0f} % less than '{}', the next{}", 100 * less,
        law_word(next->law), among);
  }
  return fmt::format("'{}' misses points left out of the fit by less, but not by a tenth{}",
                     law_word(next->law), among);
}

}  // namespace

Placement placement_of(const TrainingRun& run) {
  return {run.workers, run.nodes.value_or(run.workers), run.global_batch};
}

namespace {

std::optional<IterationModel> fit_coefficients(IterationLaw law,
                                               const std::vector<TrainingRun>& runs,
                                               const IterationOptions& options, std::string& why) {
  switch (law) {
    case IterationLaw::kScavenger:
      return fit_scavenger(runs, options, why);
    case IterationLaw::kErnest:
      return fit_ernest(runs, why);
    case IterationLaw::kPollux:
      return fit_pollux(runs, options.near, why);
    case IterationLaw::kOverlap:
      return fit_overlap(runs, options.near, why);
  }
  return std::nullopt;
}

}  // namespace

std::optional<IterationModel> fit_only(IterationLaw law, const std::vector<TrainingRun>& runs,
                                       const IterationOptions& options, std::string& why) {
  auto model = fit_coefficients(law, runs, options, why);
  if (model) keep_what_runs_tell(*model, runs);
  return model;
}

LawResult fit_law(IterationLaw law, const std::vector<TrainingRun>& runs,
                  const IterationOptions& options) {
  LawResult result;
  result.law = law;
  result.model = fit_only(law, runs, options, result.why_not);
  if (!result.model) return result;
  if (has_border(law)) add_standard_errors(*result.model, runs);
  add_quality(result, runs);
  add_leave_one_out(result, runs, options);
  return result;
}

IterationFit fit_iteration(const std::vector<TrainingRun>& runs, const IterationOptions& options) {
  IterationFit fit;
  std::vector<TrainingRun> timed;
  std::set<std::pair<double, double>> distinct;
  for (const TrainingRun& run : runs) {
    if (!run.iteration_s) continue;
    timed.push_back(run);
    distinct.insert({run.workers, run.global_batch});
  }
  if (timed.empty()) {
    throw Error(ErrorKind::kInput, runs.empty() ? "" : runs[0].where,
                "no run has an iteration time", "give iteration_s, or compute_s and sync_s");
  }
  for (const IterationLaw law : kInOrder) {
    if (options.law && law != *options.law) continue;
    fit.compared.push_back(fit_law(law, timed, options));
  }
  const LawResult* best = best_of(fit.compared, timed);
  if (!best) {
    throw Error(ErrorKind::kInput, timed[0].where,
                fmt::format("{} not determine the iteration time: {}",
                            distinct.size() == 1
                                ? "one configuration does"
                                : fmt::format("{} different configurations do", distinct.size()),
                            reasons_of(fit.compared)),
                "profile the corners: fewest and most workers, smallest and largest batch");
  }
  fit.chosen = *best;
  fit.why = options.law ? "it was asked for" : why_best(*best, fit.compared, timed);
  return fit;
}

}  // namespace plumber
