// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <tuple>

#include "cluster/model.h"

namespace plumber {
namespace {

auto key_of(const std::string& machine, const Placement& at) {
  return std::tuple<const std::string&, double, double, double>(machine, at.workers,
                                                                at.global_batch, at.nodes);
}

}  // namespace

void add_profiled(Model& model) {
  std::vector<ProfiledTime> all;
  for (const TrainingRun& run : model.runs) {
    const IterationFit* fit = iteration_for(model, run.machine);
    if (!run.iteration_s || !fit) continue;
    const Placement at = placement_of(run);
    const double law_s = iteration_time(*fit->chosen.model, at).iteration_s;
    if (law_s > 0) all.push_back({fit->machine, at, std::log(*run.iteration_s / law_s)});
  }
  std::stable_sort(all.begin(), all.end(), [](const ProfiledTime& a, const ProfiledTime& b) {
    return key_of(a.machine, a.at) < key_of(b.machine, b.at);
  });
  model.profiled.clear();
  for (auto first = all.begin(); first != all.end();) {
    auto last = first;
    double logs = 0, count = 0;
    for (;
         last != all.end() && key_of(last->machine, last->at) == key_of(first->machine, first->at);
         ++last) {
      logs += last->measured_to_law;
      count += 1;
    }
    model.profiled.push_back({first->machine, first->at, std::exp(logs / count)});
    first = last;
  }
}

const ProfiledTime* profiled_at(const Model& model, const std::string& machine,
                                const Placement& at) {
  const auto found = std::lower_bound(
      model.profiled.begin(), model.profiled.end(), key_of(machine, at),
      [](const ProfiledTime& a, const auto& key) { return key_of(a.machine, a.at) < key; });
  if (found == model.profiled.end()) return nullptr;
  return key_of(found->machine, found->at) == key_of(machine, at) ? &*found : nullptr;
}

}  // namespace plumber
