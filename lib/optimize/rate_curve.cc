// SPDX-License-Identifier: Apache-2.0
#include "optimize/rate_curve.h"

#include <optional>

#include "base/knee.h"
#include "optimize/best_plan.h"
#include "optimize/moves.h"

namespace plumber {
namespace {

constexpr double kLeastBend = 0.05;  // less is a straight line

RatePoint point_at(const Pipeline& pipeline, const Analysis& analysis,
                   const OptimizeOptions& options) {
  const Problem problem = make_problem(pipeline, analysis, options, machine_of(options.limits));
  const BestPlan plan = best_plan(problem);
  const Evaluation best = evaluate(problem, plan.settled);
  RatePoint point{options.limits.cores, options.limits.memory_bytes, 0, std::nullopt, plan.fits};
  if (plan.fits && best.period_s > 0) point.rate_per_s = 1 / best.period_s;
  if (!best.bounds.empty()) point.bound = best.bounds.front();
  return point;
}

/// Memory buys nothing until a cache fits: a staircase, whose knee is the top of its last big step.
void find_last_step(RateCurve& curve) {
  constexpr double kBigStep = 0.1;  // of the rate at the end
  const std::vector<RatePoint>& points = curve.points;
  const double most = points.empty() ? 0 : points.back().rate_per_s;
  std::size_t last = 0;
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i].rate_per_s - points[i - 1].rate_per_s >= kBigStep * most && most > 0) last = i;
  if (last == 0) {
    curve.why = "the curve is flat";
  } else if (last + 1 == points.size()) {
    curve.why = "it still rises at its end";
  } else {
    curve.knee = last;
    curve.method = "last-step";
  }
}

void find_knee_of(RateCurve& curve) {
  if (curve.what == Swept::kMemory) return find_last_step(curve);
  std::vector<double> x, y;
  for (const RatePoint& point : curve.points) {
    x.push_back(point.cores);
    y.push_back(point.rate_per_s);
  }
  const KneeOptions shape{Curve::kConcave, Direction::kIncreasing};
  const Knee knee = find_knee(x, y, shape);
  curve.knee = knee.index;
  curve.why = knee.why;
  if (curve.knee) curve.method = "kneedle";
  if (!curve.knee && x.size() > 2) {
    curve.knee = farthest_from_chord(x, y, shape);
    if (curve.knee) curve.method = "maximum-distance";
  }
  if (!curve.knee || above_chord(x, y, *curve.knee, shape) >= kLeastBend) return;
  curve.knee.reset();
  curve.method.clear();
  curve.why = "no point of it lies far above the straight line between its ends";
}

}  // namespace

RateCurve rate_curve(const Pipeline& pipeline, const Analysis& analysis,
                     const OptimizeOptions& options, const Sweep& sweep) {
  RateCurve curve;
  curve.what = sweep.what;
  curve.limits = options.limits;
  OptimizeOptions with = options;
  std::optional<ChosenMoves> moves;
  for (const double value : sweep.values) {
    (sweep.what == Swept::kCores ? with.limits.cores : with.limits.memory_bytes) = value;
    // Moves are those of the given cores, and of each memory: what is short of it decides them.
    if (!moves || sweep.what == Swept::kMemory) {
      OptimizeOptions given = with;
      given.limits.cores = options.limits.cores;
      moves = choose_moves(pipeline, analysis, given);
    }
    const Moved& moved = moves->moved;
    RatePoint point = point_at(moved.pipeline, moved.analysis, with);
    if (point.bound)
      for (NodeId& node : point.bound->nodes) node = *original_of(pipeline, moved.pipeline, node);
    // The plan for less runs with more, too.
    if (!curve.points.empty() && point.rate_per_s < curve.points.back().rate_per_s) {
      point.rate_per_s = curve.points.back().rate_per_s;
      point.bound = curve.points.back().bound;
    }
    curve.points.push_back(std::move(point));
  }
  find_knee_of(curve);
  return curve;
}

}  // namespace plumber
