// SPDX-License-Identifier: Apache-2.0
#include "cluster/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "cluster/linear_fit.h"

namespace plumber {
namespace {

std::optional<Line> line_through(const std::vector<double>& x, const std::vector<double>& y) {
  Matrix rows;
  for (const double value : x) rows.push_back({1, value});
  const auto fit = least_squares(rows, y);
  if (!fit) return std::nullopt;
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  return Line{fit->coefficients[0], fit->coefficients[1], fit->r2,  fit->standard_errors,
              fit->leave_one_out,   fit->residuals,       x.size(), {*low, *high}};
}

// The noise of a run: as measured, else the line's at its batch.
std::optional<double> noise_of_run(const TrainingRun& run, const std::optional<Line>& noise) {
  if (run.noise) return run.noise;
  if (noise) return noise_at(*noise, run.global_batch);
  return std::nullopt;
}

// One finished run suffices to compare configurations: e = theta x through it.
EpochsFit calibrated(EpochsLaw law, const std::vector<double>& x, const std::vector<double>& y) {
  double sum_x = 0, sum_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum_x += x[i];
    sum_y += y[i];
  }
  EpochsFit fit;
  fit.law = law;
  fit.calibrated = true;
  fit.line.slope = law == EpochsLaw::kNoise ? sum_y / sum_x : 0;
  fit.line.intercept = law == EpochsLaw::kNoise ? 0 : sum_y / static_cast<double>(y.size());
  fit.line.points = x.size();
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  fit.line.range = {*low, *high};
  return fit;
}

void refuse_negative(const EpochsFit& fit, const std::string& where) {
  for (const double x : {fit.line.range.first, fit.line.range.second}) {
    const double epochs = fit.line.intercept + fit.line.slope * x;
    if (epochs > 0) continue;
    throw Error(ErrorKind::kInput, where,
                fmt::format("the line of epochs gives {:.4g} epochs at {} {:.4g}, within the runs",
                            epochs, fit.law == EpochsLaw::kNoise ? "noise" : "batch", x),
                "its runs do not reach the same target, or one of them is wrong");
  }
}

}  // namespace

std::optional<Line> fit_noise(const std::vector<TrainingRun>& runs) {
  std::map<double, std::pair<double, double>> by_batch;  // B: sum and count over K
  std::string where;                                     // of the first of them
  for (const TrainingRun& run : runs) {
    if (!run.noise) continue;
    if (by_batch.empty()) where = run.where;
    by_batch[run.global_batch].first += *run.noise;
    by_batch[run.global_batch].second += 1;
  }
  if (by_batch.empty()) return std::nullopt;
  std::vector<double> x, y;
  for (const auto& [batch, sum] : by_batch) {
    x.push_back(1 / std::sqrt(batch));
    y.push_back(sum.first / sum.second);
  }
  auto line = line_through(x, y);
  if (!line) {
    throw Error(ErrorKind::kInput, where,
                fmt::format("noise was measured at one batch alone, {:.6g}: its line against "
                            "1/sqrt(B) needs two",
                            by_batch.begin()->first),
                "profile the smallest and the largest batch");
  }
  line->range = {by_batch.begin()->first, by_batch.rbegin()->first};  // in batches, as people think
  return line;
}

std::optional<EpochsFit> fit_epochs(const std::vector<TrainingRun>& runs,
                                    const std::optional<Line>& noise) {
  const EpochsLaw law = noise ? EpochsLaw::kNoise : EpochsLaw::kBatch;
  std::vector<double> x, y;
  std::string where;  // of the first of them
  for (const TrainingRun& run : runs) {
    if (!run.epochs) continue;
    if (y.empty()) where = run.where;
    x.push_back(law == EpochsLaw::kNoise ? *noise_of_run(run, noise) : run.global_batch);
    y.push_back(*run.epochs);
  }
  if (y.empty()) return std::nullopt;
  const auto line = line_through(x, y);
  if (!line) return calibrated(law, x, y);
  EpochsFit fit{law, *line, false, false};
  refuse_negative(fit, where);
  return fit;
}

double noise_at(const Line& noise, double global_batch) {
  return noise.intercept + noise.slope / std::sqrt(global_batch);
}

double epochs_at(const EpochsFit& epochs, const std::optional<Line>& noise, double global_batch) {
  const double x =
      epochs.law == EpochsLaw::kNoise && noise ? noise_at(*noise, global_batch) : global_batch;
  return epochs.line.intercept + epochs.line.slope * x;
}

double epochs_of_run(const EpochsFit& epochs, const std::optional<Line>& noise,
                     const TrainingRun& run) {
  if (epochs.law == EpochsLaw::kBatch || !run.noise) {
    return epochs_at(epochs, noise, run.global_batch);
  }
  return epochs.line.intercept + epochs.line.slope * *run.noise;
}

}  // namespace plumber
