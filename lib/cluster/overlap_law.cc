// SPDX-License-Identifier: Apache-2.0
// The overlap law roughly, in closed form: compute by least squares of relative errors on what was
// measured of it; then for each overlap exponent g of a list the network's time in each run, which
// is what is left, Tn = (tau^g - Tc^g)^(1/g), and the lines through it; the g whose relative
// squares are least wins, with a slight pull to 2 for where the runs do not tell.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cluster/iteration_fit.h"
#include "cluster/linear_fit.h"
#include "cluster/overlap_prior.h"

namespace plumber {
namespace {

constexpr std::array kExponents{1.0, 1.15, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0};
constexpr double kPriorExponent = 2;
constexpr double kPriorWeight = 5e-5;   // (g - 2)^2 against squared relative errors
constexpr double kLeastNetwork = 1e-3;  // of the iteration: hidden, not absent

struct ComputeLine {
  double constant_s = 0;
  double per_sample_s = 0;
  double at(const TrainingRun& run) const {
    return constant_s + per_sample_s * run.per_worker_batch();
  }
};

// A single worker's iteration is all compute.
std::optional<double> compute_of(const TrainingRun& run) {
  if (run.compute_s) return run.compute_s;
  return run.workers == 1 ? run.iteration_s : std::nullopt;
}

std::optional<ComputeLine> compute_line(const std::vector<TrainingRun>& runs) {
  Matrix x;
  std::vector<double> y;
  for (const TrainingRun& run : runs) {
    const auto compute_s = compute_of(run);
    if (!compute_s) continue;
    x.push_back({1, run.per_worker_batch()});
    y.push_back(*compute_s);
  }
  if (!least_squares(x, y)) return std::nullopt;  // the batches do not differ
  const auto fit = nonnegative_least_squares(x, y, relative_weights(y));
  if (!fit || fit->coefficients[1] <= 0) return std::nullopt;
  return ComputeLine{fit->coefficients[0], fit->coefficients[1]};
}

double network_of(const TrainingRun& run, double compute_s, double g) {
  const double whole = *run.iteration_s;
  const double ratio = std::min(compute_s / whole, 1.0);
  const double share = std::pow(std::max(1 - std::pow(ratio, g), 0.0), 1 / g);
  return whole * std::max(share, kLeastNetwork);
}

// What the network took, by where the workers sit.
struct NetworkPoints {
  std::vector<double> in_node_per_worker;
  std::vector<double> two_nodes;
  Matrix across_x;
  std::vector<double> across;
};

NetworkPoints network_points(const std::vector<TrainingRun>& runs, const ComputeLine& line,
                             double g) {
  NetworkPoints points;
  for (const TrainingRun& run : runs) {
    const double nodes = placement_of(run).nodes;
    if (run.workers <= 1) continue;
    const double network_s = network_of(run, line.at(run), g);
    if (nodes <= 1) {
      points.in_node_per_worker.push_back(network_s / (run.workers - 1));
    } else if (nodes <= 2) {
      points.two_nodes.push_back(network_s);
    } else {
      points.across_x.push_back({1, std::log2(nodes)});
      points.across.push_back(network_s);
    }
  }
  return points;
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void add_across(IterationModel& model, const NetworkPoints& points) {
  const auto line = least_squares(points.across_x, points.across, relative_weights(points.across));
  double constant_s = geometric_mean(points.across), growth_s = 0;
  if (line && line->coefficients[1] >= 0) {
    constant_s = line->coefficients[0];
    growth_s = line->coefficients[1];
  }
  if (points.across.empty()) constant_s = geometric_mean(points.two_nodes);
  model.coefficients.push_back({"across", constant_s, {}});
  model.coefficients.push_back({"across_log2", growth_s, {}});
}

IterationModel model_at(const std::vector<TrainingRun>& runs, const ComputeLine& line, double g) {
  const NetworkPoints points = network_points(runs, line, g);
  IterationModel model{IterationLaw::kOverlap,
                       {{"compute", line.constant_s, {}},
                        {"compute_per_sample", line.per_sample_s, {}},
                        {"in_node", median(points.in_node_per_worker), {}}},
                       0};
  if (!points.two_nodes.empty()) {
    model.coefficients.push_back({"two_nodes", geometric_mean(points.two_nodes), {}});
  }
  add_across(model, points);
  model.coefficients.push_back({"g", g, {}});
  return model;
}

double squares_of(const IterationModel& model, const std::vector<TrainingRun>& runs) {
  double sum = 0;
  for (const TrainingRun& run : runs) {
    const double time_s = iteration_time(model, placement_of(run)).iteration_s;
    sum += std::pow(std::log(time_s / *run.iteration_s), 2);
  }
  return sum;
}

bool across_nodes(const std::vector<TrainingRun>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const TrainingRun& run) {
    return run.workers > 1 && placement_of(run).nodes > 1;
  });
}

}  // namespace

std::optional<IterationModel> fit_overlap_roughly(const std::vector<TrainingRun>& runs,
                                                  std::string& why) {
  const bool placed =
      std::any_of(runs.begin(), runs.end(), [](const TrainingRun& r) { return r.nodes; });
  const auto line = compute_line(runs);
  if (!line) {
    why = "needs compute_s (or runs of one worker) at two batches per worker";
  } else if (!placed) {
    why = "needs the nodes that the workers share (column nodes)";
  } else if (!across_nodes(runs)) {
    why = "needs a run across nodes";
  }
  if (!why.empty()) return std::nullopt;
  std::optional<IterationModel> best;
  double least = std::numeric_limits<double>::infinity();
  for (const double g : kExponents) {
    const IterationModel model = model_at(runs, *line, g);
    const double squares = squares_of(model, runs) + kPriorWeight * std::pow(g - kPriorExponent, 2);
    if (squares >= least) continue;
    least = squares;
    best = model;
  }
  return best;
}

}  // namespace plumber
