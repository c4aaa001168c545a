// SPDX-License-Identifier: Apache-2.0
#include "optimize/modes.h"

#include <algorithm>
#include <array>

namespace plumber {
namespace {

using enum EditKind;

// Grouped by op. PaddedBatch has no parallel form, and LegacyParallelInterleave has no number of
// calls apart from its cycle length, which decides the order of the elements. A filter becomes no
// ParallelFilter: TensorFlow 2.21 cannot optimise a program with one, and refuses to run it. A
// parallel map computes the flags instead, and the filter looks at them.
// clang-format off
constexpr auto kChanges = std::to_array<ModeChange>({
    {"BatchDatasetV2",              Mode::kParallel,       kConvert,           "ParallelBatchDataset"},
    {"FilterDataset",               Mode::kInline,         kPassThroughFilter, ""},
    {"FilterDataset",               Mode::kParallel,       kPassThroughFilter, ""},
    {"InterleaveDataset",           Mode::kParallel,       kConvert,           "ParallelInterleaveDatasetV4"},
    {"MapAndBatchDataset",          Mode::kParallel,       kSetParallelism,    ""},
    {"MapDataset",                  Mode::kParallel,       kConvert,           "ParallelMapDatasetV2"},
    {"MapDataset",                  Mode::kParallelUnbounded, kParallelUnbounded, ""},
    {"MapDataset",                  Mode::kInline,         kInline,            ""},
    {"MapDataset",                  Mode::kParallelInline, kParallelInline,    ""},
    {"MapDataset",                  Mode::kDispatched,     kSetOptions,        "experimental_optimization.map_parallelization"},
    {"ParallelBatchDataset",        Mode::kParallel,       kSetParallelism,    ""},
    {"ParallelBatchDataset",        Mode::kNone,           kSequential,        "BatchDatasetV2"},
    {"ParallelFilterDataset",       Mode::kParallel,       kSetParallelism,    ""},
    {"ParallelFilterDataset",       Mode::kDispatched,     kSequential,        "FilterDataset"},
    {"ParallelInterleaveDatasetV2", Mode::kParallel,       kSetParallelism,    ""},
    {"ParallelInterleaveDatasetV3", Mode::kParallel,       kSetParallelism,    ""},
    {"ParallelInterleaveDatasetV4", Mode::kParallel,       kSetParallelism,    ""},
    {"ParallelInterleaveDatasetV4", Mode::kDispatched,     kSequential,        "InterleaveDataset"},
    {"ParallelMapDataset",          Mode::kParallel,       kSetParallelism,    ""},
    {"ParallelMapDatasetV2",        Mode::kParallel,       kSetParallelism,    ""},
    {"ParallelMapDatasetV2",        Mode::kParallelUnbounded, kParallelUnbounded, ""},
    {"ParallelMapDatasetV2",        Mode::kInline,         kInline,            ""},
    {"ParallelMapDatasetV2",        Mode::kParallelInline, kParallelInline,    ""},
    {"ParallelMapDatasetV2",        Mode::kDispatched,     kSequential,        "MapDataset"},
});
// clang-format on

}  // namespace

std::span<const ModeChange> mode_changes(std::string_view op) {
  const auto is_other = [&](const ModeChange& change) { return change.op != op; };
  const auto first = std::find_if_not(kChanges.begin(), kChanges.end(), is_other);
  const auto last = std::find_if(first, kChanges.end(), is_other);
  return {first, last};
}

bool cycle_is_computed(const Node& node) {
  return node.kind == Kind::kInterleave && op_traits(node.op).cycle_input != 0 &&
         !node.cycle_length && !node.scalars_known;
}

}  // namespace plumber
