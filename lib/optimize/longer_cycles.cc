// SPDX-License-Identifier: Apache-2.0
#include "optimize/longer_cycles.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "optimize/calls.h"
#include "optimize/move_rules.h"

namespace plumber {
namespace {

constexpr double kMostCycle = 64;

// Of legacy interleaves the cycle is the number of calls.
bool has_calls_of_its_own(const Node& node) {
  const OpTraits& traits = op_traits(node.op);
  return node.op == "InterleaveDataset" || traits.parallelism_input != traits.cycle_input;
}

MoveCandidate with_cycle(const Moved& now, NodeId id, std::int64_t length, double wait_share) {
  MoveCandidate candidate;
  candidate.node = now.pipeline[id].name;
  candidate.moved = now;
  candidate.moved.pipeline[id].cycle_length = length;
  candidate.what = fmt::format("cycle_length={}", length);
  candidate.edits.push_back(
      {"",
       EditKind::kLengthenCycle,
       candidate.node,
       "",
       length,
       fmt::format("its readers wait for {} of the time that they take: more files at a time wait "
                   "together, unless the disk is full already; other elements follow each other",
                   format_share(wait_share)),
       {},
       ""});
  return candidate;
}

}  // namespace

void add_longer_cycles(const Moved& now, const OptimizeOptions& options, NodeId interleave,
                       MoveCandidates& found) {
  const Node& node = now.pipeline[interleave];
  const std::int64_t cycle = node.cycle_length.value_or(0);
  const WaitingReaders reading = waiting_readers(now.pipeline, now.analysis.costs, interleave);
  if (cycle < 1 || !reading.waiting || !has_calls_of_its_own(node)) return;
  const std::string why = why_not_lengthened(now.pipeline, interleave);
  if (!why.empty()) {
    found.illegal.push_back({edit_word(EditKind::kLengthenCycle), node.name, why});
    return;
  }
  const Cardinality& files = now.analysis.nodes[node.inputs.front()].elements_per_epoch;
  double most = kMostCycle;
  if (files.kind == Cardinality::Kind::kKnown) most = std::min(most, files.elements);
  // A list that is repeated does not hold more files for it.
  const std::size_t on_disk = now.pipeline.file_bytes.size();
  if (on_disk > 1) most = std::min(most, static_cast<double>(on_disk));
  for (double length = 2 * static_cast<double>(cycle); length < 2 * most; length *= 2) {
    found.legal.push_back(with_cycle(
        now, interleave, static_cast<std::int64_t>(std::min(most, length)), reading.wait_share));
    if (!options.permissions.contains(Permission::kReorderFiles))
      found.legal.back().needs = Permission::kReorderFiles;
  }
}

}  // namespace plumber
