// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "cluster/fit.h"

namespace plumber {
namespace {

constexpr std::size_t kEnough = 500;

// The configuration of a run, and which of its columns are filled: a row may say only part.
using Kind = std::tuple<std::string, double, double, double, int>;

Kind kind_of(const TrainingRun& run) {
  int filled = 0;
  for (const auto* column :
       {&run.iteration_s, &run.compute_s, &run.noise, &run.epochs, &run.restarts}) {
    filled = 2 * filled + (column->has_value() ? 1 : 0);
  }
  return {run.machine, run.workers, run.nodes.value_or(run.workers), run.global_batch, filled};
}

}  // namespace

std::vector<TrainingRun> enough_of(const std::vector<TrainingRun>& runs) {
  if (runs.size() <= kEnough) return runs;
  std::map<Kind, std::vector<std::size_t>> kinds;
  for (std::size_t i = 0; i < runs.size(); ++i) kinds[kind_of(runs[i])].push_back(i);
  const std::size_t share = std::max<std::size_t>(kEnough / kinds.size(), 1);
  std::vector<std::size_t> chosen;
  for (const auto& [kind, own] : kinds) {
    const std::size_t taken = std::min(share, own.size());
    for (std::size_t i = 0; i < taken; ++i) chosen.push_back(own[i * own.size() / taken]);
  }
  std::vector<std::size_t> kept;
  const std::size_t most = std::min(kEnough, chosen.size());
  for (std::size_t i = 0; i < most; ++i) {  // and both ends, which the range of validity rests on
    kept.push_back(chosen[most > 1 ? i * (chosen.size() - 1) / (most - 1) : 0]);
  }
  std::sort(kept.begin(), kept.end());
  std::vector<TrainingRun> result;
  for (const std::size_t i : kept) result.push_back(runs[i]);
  return result;
}

}  // namespace plumber
