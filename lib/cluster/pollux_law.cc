// SPDX-License-Identifier: Apache-2.0
// Pollux's law, fitted as its authors do: root mean square of log errors of compute and iteration,
// with their penalties; parameters in logarithms, so that none is negative, and g in 1..10.
#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <utility>

#include "cluster/iteration_fit.h"
#include "cluster/minimize.h"
#include "cluster/seen_placements.h"

namespace plumber {
namespace {

constexpr std::size_t kFewest = 4;
constexpr double kSmallest = 1e-8;

// Variables: log of ac bc an bn ar br, and g through a logistic curve.
IterationModel model_of(const std::vector<double>& v) {
  const char* names[] = {"ac", "bc", "an", "bn", "ar", "br"};
  IterationModel model{IterationLaw::kPollux, {}, 0};
  for (std::size_t i = 0; i < 6; ++i) {
    model.coefficients.push_back({names[i], std::max(std::exp(v[i]), kSmallest), {}});
  }
  model.coefficients.push_back({"g", 1 + 9 / (1 + std::exp(-v[6])), {}});
  return model;
}

// Where the network takes the same time: so many workers, in a node or across.
struct Group {
  double workers;
  bool across;
  auto operator<=>(const Group&) const = default;
};

// The runs of one configuration, as far as the loss needs them: it is evaluated thousands of times,
// and squares about a mean add to n (x - mean)^2.
struct Point {
  std::size_t batch, group;  // where in Points
  double count = 0, log_iteration = 0, scatter = 0;
  double compute_count = 0, log_compute = 0, compute_scatter = 0;
};

// One more value of which `count - 1` with this mean and these squares about it are there.
void add_value(double value, double count, double& mean, double& squares) {
  const double off = value - mean;
  mean = count > 1 ? mean + off / count : value;
  squares += count > 1 ? off * (value - mean) : 0;
}

struct Points {
  std::vector<double> batches;  // per worker
  std::vector<Group> groups;
  std::vector<Point> points;
};

Points points_of(const std::vector<TrainingRun>& runs) {
  Points all;
  std::map<double, std::size_t> batches;
  std::map<Group, std::size_t> groups;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
  for (const TrainingRun& run : runs) {
    const double batch = run.per_worker_batch();
    const Group group{run.workers, placement_of(run).nodes > 1};
    const auto [of_batch, new_batch] = batches.insert({batch, batches.size()});
    if (new_batch) all.batches.push_back(batch);
    const auto [of_group, new_group] = groups.insert({group, groups.size()});
    if (new_group) all.groups.push_back(group);
    const std::pair key{of_batch->second, of_group->second};
    const auto [at, is_new] = known.insert({key, all.points.size()});
    if (is_new) all.points.push_back({key.first, key.second});
    Point& point = all.points[at->second];
    add_value(std::log(*run.iteration_s), ++point.count, point.log_iteration, point.scatter);
    if (run.compute_s.value_or(0) <= 0) continue;
    add_value(std::log(*run.compute_s), ++point.compute_count, point.log_compute,
              point.compute_scatter);
  }
  return all;
}

// The variables of model_of() as numbers, and the law's times by them. The powers are of the
// distinct batches and groups, which are fewer than the points: a point costs the logarithm in
// ln tau = ln(Tc^g + Tn^g) / g. No power overflows: g is at most 10.
struct Parameters {
  double ac, bc, an, bn, ar, br, g;

  explicit Parameters(const std::vector<double>& v)
      : ac(bounded(v[0])),
        bc(bounded(v[1])),
        an(bounded(v[2])),
        bn(bounded(v[3])),
        ar(bounded(v[4])),
        br(bounded(v[5])),
        g(1 + 9 / (1 + std::exp(-v[6]))) {}

  static double bounded(double log) { return std::max(std::exp(log), kSmallest); }

  double network_s(const Group& at) const {
    if (at.workers <= 1) return 0;
    const double more = std::max(at.workers - 2, 1e-8);
    return at.across ? an + bn * more : ar + br * more;
  }
};

double loss(const Parameters& law, const Points& all) {
  std::vector<double> log_compute, compute_power, network_power;
  for (const double batch : all.batches) {
    log_compute.push_back(std::log(law.ac + law.bc * batch));
    compute_power.push_back(std::exp(law.g * log_compute.back()));
  }
  for (const Group& group : all.groups) {
    network_power.push_back(std::pow(law.network_s(group), law.g));
  }
  double squares = 0, count = 0, compute_squares = 0, compute_count = 0;
  for (const Point& point : all.points) {
    const double power = compute_power[point.batch] + network_power[point.group];
    const double off = std::log(power) / law.g - point.log_iteration;
    squares += point.count * off * off + point.scatter;
    count += point.count;
    if (point.compute_count <= 0) continue;
    const double compute_off = log_compute[point.batch] - point.log_compute;
    compute_squares += point.compute_count * compute_off * compute_off + point.compute_scatter;
    compute_count += point.compute_count;
  }
  const double across = law.bn / law.an, within = law.br / law.ar;
  return std::sqrt(squares / count) +
         (compute_count > 0 ? std::sqrt(compute_squares / compute_count) : 0) +
         1e-3 * (law.g - 1) * (law.g - 1) + 1e-2 * (across * across + within * within);
}

bool batches_differ(const std::vector<TrainingRun>& runs) {
  return std::any_of(runs.begin(), runs.end(), [&](const TrainingRun& run) {
    return std::abs(run.per_worker_batch() / runs[0].per_worker_batch() - 1) > 1e-9;
  });
}

// Where the search begins when nothing is known.
std::vector<double> first_guess(const std::vector<TrainingRun>& runs) {
  double mean_s = 0, mean_batch = 0;
  for (const TrainingRun& run : runs) {
    mean_s += *run.iteration_s / static_cast<double>(runs.size());
    mean_batch += run.per_worker_batch() / static_cast<double>(runs.size());
  }
  return {std::log(0.3 * mean_s),
          std::log(0.3 * mean_s / mean_batch),
          std::log(0.3 * mean_s),
          std::log(0.01 * mean_s),
          std::log(0.1 * mean_s),
          std::log(0.01 * mean_s),
          -4};
}

// The variables of a model: model_of() backwards.
std::vector<double> variables_of(const IterationModel& model) {
  std::vector<double> variables;
  for (const char* name : {"ac", "bc", "an", "bn", "ar", "br"}) {
    variables.push_back(std::log(std::max(model.value(name), kSmallest)));
  }
  const double share = std::clamp((model.value("g") - 1) / 9, 1e-4, 1 - 1e-4);
  variables.push_back(std::log(share / (1 - share)));
  return variables;
}

}  // namespace

std::optional<IterationModel> fit_pollux(const std::vector<TrainingRun>& runs,
                                         const std::optional<IterationModel>& near,
                                         std::string& why) {
  if (runs.size() < kFewest || !batches_differ(runs)) {
    why = "needs 4 points with two batches per worker";
    return std::nullopt;
  }
  const Points points = points_of(runs);
  const Objective objective = [&](const std::vector<double>& v) {
    return loss(Parameters(v), points);
  };
  IterationModel model = model_of(near ? minimize_near(objective, variables_of(*near))
                                       : minimize(objective, first_guess(runs)));
  keep_what_runs_tell(model, runs);
  return model;
}

}  // namespace plumber
