// SPDX-License-Identifier: Apache-2.0
// Laws of the time of one iteration, tau(K, b, nodes), with b = B / K samples a worker:
//
//   scavenger  compute = c0 + c1 b, sync = s0 + s1 K (and s2 B on request), each on its own
//              measurements; tau = d0 + d1 b + d2 K where only the total was measured
//   ernest     t0 + t1 b + t2 ln K + t3 K, no coefficient negative (Venkataraman et al. 2016)
//   pollux     (Tc^g + Tn^g)^(1/g), Tc = ac + bc b, Tn = 0 for K = 1, ar + br (K - 2) within a
//              node, an + bn (K - 2) across; 1 <= g <= 10 (Qiao et al. 2021)
//   overlap    the same form, piecewise where the network changes: Tn = r (K - 1) within a node,
//              a time of its own for two nodes, n0 + n1 log2(nodes) for more
//
// g = 1 adds both parts, a large g hides the shorter one behind the longer.
//
// With a extra passes of gradient accumulation a worker's batch is computed in a + 1 parts of
// b / (a + 1) samples, each of which pays the constant of compute again, and the gradients are
// exchanged once, behind the last. Where only the whole was measured (d0, t0) all of the constant
// is taken for compute: no less than it will be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumber {

enum class IterationLaw { kScavenger, kOverlap, kErnest, kPollux };

std::string law_word(IterationLaw law);  // "scavenger", ...
std::optional<IterationLaw> law_of(const std::string& word);

struct Placement {
  double workers = 1;
  double nodes = 1;
  double global_batch = 1;
  double accumulation = 0;  // extra passes whose gradients add up before one exchange
};

/// Where the workers of the runs sat: what nobody saw, no law tells.
struct SeenPlacements {
  bool within = true;  // several workers on one machine
  bool packed = true;  // several workers a machine, on one or on more
  bool across = true;  // on several machines
  bool wide = true;    // on more than two
  // Where only one number of workers was seen, it: on one machine, and on several.
  std::optional<double> only_within, only_across;
};

struct IterationTime {
  double compute_s = 0;
  double sync_s = 0;  // what is not hidden behind compute
  double iteration_s = 0;
};

struct Coefficient {
  std::string name;
  double value = 0;
  std::optional<double> standard_error;
};

/// A law with its numbers. A coefficient that does not apply is absent.
struct IterationModel {
  IterationLaw law = IterationLaw::kScavenger;
  std::vector<Coefficient> coefficients;
  double update_s = 0;  // saturated parameter servers: tau >= K update_s
  SeenPlacements seen{};

  std::optional<double> coefficient(std::string_view name) const;
  double value(std::string_view name) const { return coefficient(name).value_or(0); }
};

/// How far the runs determine a placement's time. Where they do not, it is taken for the slowest
/// that it may be, so that no placement looks better for what nobody measured: several workers of a
/// machine as one machine each; by the law overlap, n machines as n - 1 exchanges between two; by
/// pollux, whose network grows with the workers, fewer than the only number seen as that many, and
/// more as if all of the network's time were growth, (K - 1) / (K seen - 1).
enum class Determined { kByRuns, kAtMostAsApart, kAtMostAsPairs, kAtMostAsGrown, kNot };
Determined determined(const IterationModel& model, const Placement& placement);

/// Means nothing for a placement that the runs do not determine.
IterationTime iteration_time(const IterationModel& model, const Placement& placement);

}  // namespace plumber
