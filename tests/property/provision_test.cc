// SPDX-License-Identifier: Apache-2.0
// The cheapest cores, memory and disk for a target, against every combination of them.
#include "optimize/provision.h"

#include <cmath>

#include "catch2_any.h"
#include "optimize/best_plan.h"
#include "optimize/target.h"
#include "random_pipelines.h"

using namespace plumber;

namespace {

double rate_with(const SmallPipeline& p, OptimizeOptions options, const Provision& bought) {
  options.limits.cores = bought.cores;
  options.limits.memory_bytes = bought.memory_bytes;
  if (bought.disk_bytes_per_s) options.limits.disks = {{"", flat_disk(*bought.disk_bytes_per_s)}};
  const Problem problem = make_problem(p.pipeline, p.analysis, options, machine_of(options.limits));
  const BestPlan plan = plan_for_target(problem, options.target_rate_per_s.value_or(0));
  return plan.fits ? 1 / evaluate(problem, plan.settled).period_s : 0;
}

double cheapest_of_all(const SmallPipeline& p, const OptimizeOptions& options) {
  const double rate = *options.target_rate_per_s;
  const Problem most = make_problem(p.pipeline, p.analysis, options, machine_of(options.limits));
  const Offer offer = offer_for(most, rate);
  double best = HUGE_VAL;
  for (Provision one : offer.disks) {
    for (one.memory_bytes = 0x1p28; one.memory_bytes <= 0x1p30; one.memory_bytes += 0x1p28) {
      for (one.cores = 1; one.cores <= offer.most_cores; ++one.cores) {
        one.cores_usd = one.cores * options.prices->usd_per_core_hour;
        one.memory_usd = one.memory_bytes / 0x1p30 * options.prices->usd_per_gib_hour;
        if (one.usd_per_hour() < best && rate_with(p, options, one) >= rate * (1 - 1e-9))
          best = one.usd_per_hour();
      }
    }
  }
  return best;
}

}  // namespace

TEST_CASE("small pipelines: the cheapest provision of all combinations") {
  RandomPipelines random(23);
  int compared = 0, different = 0;
  for (int round = 0; round < 60; ++round) {
    SmallPipeline p = random.next();
    p.analysis.costs.nodes[NodeId{0}].disk_bytes = 1e6 * (1 + 20 * random.uniform());
    OptimizeOptions options;
    options.limits = {4, 0x1p30, {}};
    options.prices = ResourcePrices{0.03, 0.01 * random.uniform(), 0.0001 * random.uniform(), {}};
    Provision all;
    all.cores = 4, all.memory_bytes = 0x1p30;
    const double most = rate_with(p, options, all);
    if (!(most > 0) || !std::isfinite(most)) continue;
    options.target_rate_per_s = most * (0.2 + 0.7 * random.uniform());
    CAPTURE(round);
    const auto found = limits_for_target(p.pipeline, p.analysis, options).provision;
    REQUIRE(found);
    const double force = cheapest_of_all(p, options);
    CHECK(found->usd_per_hour() >= force * (1 - 1e-9));
    different += found->usd_per_hour() > force * (1 + 1e-9) ? 1 : 0;
    ++compared;
  }
  CHECK(compared >= 40);
  CHECK(different <=
        compared / 20);  // the rate of the search may fall by a little with a core more
}
