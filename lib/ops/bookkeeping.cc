// SPDX-License-Identifier: Apache-2.0
#include "ops/bookkeeping.h"

#include <algorithm>

namespace plumber {
namespace {

constexpr double kIterator_s = 0.095e-6;
constexpr double kBuffer_s = 0.035e-6;  // more, for the bytes and places that come and go
constexpr double kFile_s = 0.1e-6;      // more, for the bytes that are read
constexpr double kLeastShare = 0.2;     // of a node's time is left: its own work, whatever the rest

}  // namespace

double bookkeeping_s(const Node& node) {
  switch (node.kind) {
    case Kind::kWrapper:
      return 0;
    case Kind::kShuffle:
    case Kind::kShuffleRepeat:
      return kIterator_s + kBuffer_s;
    case Kind::kFileSource:
      return kIterator_s + kFile_s;
    case Kind::kCache:
      return 2 * kIterator_s;  // one iterator within the other
    default:
      return kIterator_s;
  }
}

Costs without_bookkeeping(Costs costs) {
  for (NodeCost& cost : costs.nodes) {
    const double least_s = std::max(kLeastShare * cost.work_s, cost.least_s);
    const double most_s = std::max(0.0, cost.work_s - least_s);
    const double saved_s = std::clamp(cost.bookkeeping_s, 0.0, most_s);
    cost.work_s -= saved_s;
    cost.cpu_s = std::max(0.0, cost.cpu_s - saved_s);
  }
  costs.hand_off.cache_read =
      std::min(costs.hand_off.cache_read, costs.hand_off.cache_read_untuned);
  return costs;
}

}  // namespace plumber
