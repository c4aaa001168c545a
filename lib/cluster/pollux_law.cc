// SPDX-License-Identifier: Apache-2.0
// Pollux's law, fitted as its authors do: root mean square of log errors of compute and iteration,
// with their penalties; parameters in logarithms, so that none is negative, and g in 1..10.
#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <utility>

#include "cluster/iteration_fit.h"
#include "cluster/minimize.h"

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
  double batch;
  std::size_t group;
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
  std::vector<Group> groups;
  std::vector<Point> points;
};

Points points_of(const std::vector<TrainingRun>& runs) {
  Points all;
  std::map<Group, std::size_t> groups;
  std::map<std::pair<double, std::size_t>, std::size_t> known;
  for (const TrainingRun& run : runs) {
    const Group group{run.workers, placement_of(run).nodes > 1};
    const std::size_t in = groups.insert({group, groups.size()}).first->second;
    if (in == all.groups.size()) all.groups.push_back(group);
    const std::pair key{run.per_worker_batch(), in};
    const auto [at, is_new] = known.insert({key, all.points.size()});
    if (is_new) all.points.push_back({key.first, in});
    Point& point = all.points[at->second];
    add_value(std::log(*run.iteration_s), ++point.count, point.log_iteration, point.scatter);
    if (run.compute_s.value_or(0) <= 0) continue;
    add_value(std::log(*run.compute_s), ++point.compute_count, point.log_compute,
              point.compute_scatter);
  }
  return all;
}

// The variables of model_of() as numbers, and the logarithms of the law's times by them, which cost
// fewer powers than the times: ln (Tc^g + Tn^g)^(1/g) = ln T + ln(1 + (t / T)^g) / g with the
// longer T and the shorter t.
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

  double log_network(const Group& at) const {
    if (at.workers <= 1) return -std::numeric_limits<double>::infinity();
    const double more = std::max(at.workers - 2, 1e-8);
    return std::log(at.across ? an + bn * more : ar + br * more);
  }

  double log_iteration(double log_compute, double log_network) const {
    const double longer = std::max(log_compute, log_network);
    const double shorter = std::min(log_compute, log_network);
    return longer + std::log1p(std::exp(g * (shorter - longer))) / g;
  }
};

double loss(const Parameters& law, const Points& all) {
  std::vector<double> log_network;
  for (const Group& group : all.groups) log_network.push_back(law.log_network(group));
  double squares = 0, count = 0, compute_squares = 0, compute_count = 0;
  for (const Point& point : all.points) {
    const double log_compute = std::log(law.ac + law.bc * point.batch);
    const double off =
        law.log_iteration(log_compute, log_network[point.group]) - point.log_iteration;
    squares += point.count * off * off + point.scatter;
    count += point.count;
    if (point.compute_count <= 0) continue;
    const double compute_off = log_compute - point.log_compute;
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

// Of the network a law can say nothing that no run shows: such terms stay at the lower bound.
void drop_unseen(IterationModel& model, const std::vector<TrainingRun>& runs) {
  bool within = false, across = false;
  for (const TrainingRun& run : runs) {
    within = within || (run.workers > 1 && placement_of(run).nodes <= 1);
    across = across || (run.workers > 1 && placement_of(run).nodes > 1);
  }
  for (Coefficient& one : model.coefficients) {
    const bool unseen = (!within && (one.name == "ar" || one.name == "br")) ||
                        (!across && (one.name == "an" || one.name == "bn"));
    if (unseen) one.value = kSmallest;
  }
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
  drop_unseen(model, runs);
  return model;
}

}  // namespace plumber
