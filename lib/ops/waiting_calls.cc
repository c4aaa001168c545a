// SPDX-License-Identifier: Apache-2.0
#include "ops/waiting_calls.h"

#include <cstdio>
#include <utility>

#include "ops/hand_off.h"

namespace plumber {

bool waits_often(const Node& node, const NodeCost& cost, const HandOff& hand_off) {
  constexpr double kMostOnCore = 0.8;
  if (node.kind != Kind::kMap || !node.function) return false;
  const FunctionFacts& facts = node.function->facts;
  const bool can_wait = !facts.file_reads.empty() || !facts.python.empty();
  return can_wait && calls_wait(hand_off, cost) && cost.cpu_s <= kMostOnCore * cost.work_s;
}

bool knows_own_threads(const Pipeline& pipeline) {
  if (!pipeline.recorder) return false;
  int major = 0, minor = 0;
  const char* version = pipeline.recorder->tensorflow_version.c_str();
  if (std::sscanf(version, "%d.%d", &major, &minor) != 2) return false;
  return std::pair(major, minor) >= std::pair(2, 18);
}

}  // namespace plumber
