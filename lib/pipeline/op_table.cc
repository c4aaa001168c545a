// SPDX-License-Identifier: Apache-2.0
// The dataset ops of TensorFlow 2.21, legacy versions included. Columns: op, name in a ModelProto,
// kind, number of dataset inputs, threading, function attribute; then the places of the inputs
// parallelism, buffer, count, cycle length, block length, seed, shift. Defaults are left out at the
// end. Model names are not always the op's: a Cache is two iterators (MemoryCache over
// MemoryCacheImpl, or FileCache over FileCacheImpl), and Repeat, Take and Skip are prefixed by what
// their count makes of them (ForeverRepeat, FiniteRepeat, EmptyRepeat, ...).
// LegacyParallelInterleave has no input of its own for parallelism: it reads cycle_length files at
// once.
#include "pipeline/op_table.h"

#include <algorithm>
#include <array>

namespace plumber {
namespace {

using enum Kind;
using enum Threading;

// Sorted by op. Not wrapped: one line an op.
// clang-format off
constexpr auto kTable = std::to_array<OpTraits>({
    {"AnonymousIterator",                  "",                            kSink, 0},
    {"AnonymousIteratorV2",                "",                            kSink, 0},
    {"AnonymousIteratorV3",                "",                            kSink, 0},
    {"AnonymousMultiDeviceIterator",       "",                            kSink, 0},
    {"AnonymousMultiDeviceIteratorV3",     "",                            kSink, 0},
    {"AssertCardinalityDataset",           "AssertCardinality",           kPass, 1, kSynchronous, "", 0, 0, -1},
    {"AssertNextDataset",                  "AssertNext",                  kPass},
    {"AssertPrevDataset",                  "AssertPrev",                  kPass},
    {"AutoShardDataset",                   "",                            kWrapper},
    {"BatchDataset",                       "Batch",                       kBatch, 1, kSynchronous, "", 0, 0, -1},
    {"BatchDatasetV2",                     "BatchV2",                     kBatch, 1, kSynchronous, "", 0, 0, -2},
    {"BytesProducedStatsDataset",          "BytesProducedStats",          kPass},
    {"CSVDataset",                         "CSV",                         kFileSource, 0},
    {"CSVDatasetV2",                       "CSV",                         kFileSource, 0},
    {"CacheDataset",                       "MemoryCache",                 kCache},
    {"CacheDatasetV2",                     "MemoryCache",                 kCache},
    {"ChooseFastestBranchDataset",         "ChooseFastestBranch",         kOpaque},
    {"ChooseFastestDataset",               "ChooseFastest",               kOpaque, kInputsN},
    {"ConcatenateDataset",                 "Concatenate",                 kConcatenate, 2},
    {"DataServiceDataset",                 "DataService",                 kOpaque, 0, kRunner},
    {"DataServiceDatasetV2",               "DataServiceV2",               kOpaque, 0, kRunner},
    {"DataServiceDatasetV3",               "DataServiceV3",               kOpaque, 0, kRunner},
    {"DataServiceDatasetV4",               "DataServiceV4",               kOpaque, 0, kRunner},
    {"DatasetCardinality",                 "",                            kSink},
    {"DatasetFingerprint",                 "",                            kSink},
    {"DatasetFromGraph",                   "",                            kOpaque, 0},
    {"DatasetToGraph",                     "",                            kSink},
    {"DatasetToGraphV2",                   "",                            kSink},
    {"DatasetToSingleElement",             "",                            kSink},
    {"DatasetToTFRecord",                  "",                            kSink},
    {"DeleteIterator",                     "",                            kSink, 0},
    {"DeleteMultiDeviceIterator",          "",                            kSink, 0},
    {"DenseToSparseBatchDataset",          "DenseToSparseBatch",          kBatch, 1, kSynchronous, "", 0, 0, -2},
    {"DeserializeIterator",                "",                            kSink, 0},
    {"DirectedInterleaveDataset",          "DirectedInterleave",          kMixture, kInputs1N},
    {"FilterByLastComponentDataset",       "FilterByLastComponent",       kFilter},
    {"FilterDataset",                      "Filter",                      kFilter, 1, kSynchronous, "predicate"},
    {"FinalizeDataset",                    "",                            kWrapper},
    {"FixedLengthRecordDataset",           "FixedLengthRecord",           kFileSource, 0},
    {"FixedLengthRecordDatasetV2",         "FixedLengthRecordV2",         kFileSource, 0},
    {"FlatMapDataset",                     "FlatMap",                     kFlatMap, 1, kSynchronous, "f"},
    {"GeneratorDataset",                   "Generator",                   kMemorySource, 0, kSynchronous, "next_func"},
    {"GlobalShuffleDataset",               "GlobalShuffle",               kShuffle, 1, kSynchronous, "", 0, 0, 0, 0, 0, -3},
    {"GroupByReducerDataset",              "GroupByReducer",              kGroup, 1, kSynchronous, "key_func"},
    {"GroupByWindowDataset",               "GroupByWindow",               kGroup, 1, kSynchronous, "key_func"},
    {"IgnoreErrorsDataset",                "IgnoreErrors",                kFilter},
    {"IndexFlatMapDataset",                "IndexFlatMap",                kFlatMap, 1, kSynchronous, "map_func"},
    {"InitializeTableFromDataset",         "",                            kSink},
    {"InterleaveDataset",                  "Interleave",                  kInterleave, 1, kSynchronous, "f", 0, 0, 0, -2, -1},
    {"Iterator",                           "",                            kSink, 0},
    {"IteratorFromStringHandle",           "",                            kSink, 0},
    {"IteratorFromStringHandleV2",         "",                            kSink, 0},
    {"IteratorGetDevice",                  "",                            kSink, 0},
    {"IteratorGetModelProto",              "",                            kSink, 0},
    {"IteratorGetNext",                    "",                            kSink, 0},
    {"IteratorGetNextAsOptional",          "",                            kSink, 0},
    {"IteratorGetNextSync",                "",                            kSink, 0},
    {"IteratorToStringHandle",             "",                            kSink, 0},
    {"IteratorV2",                         "",                            kSink, 0},
    {"LMDBDataset",                        "LMDB",                        kFileSource, 0},
    {"LatencyStatsDataset",                "LatencyStats",                kPass},
    {"LegacyParallelInterleaveDatasetV2",  "LegacyParallelInterleaveV2",  kInterleave, 1, kParallelInterleave, "f", -4, -2, 0, -4, -3},
    {"ListDataset",                        "List",                        kMemorySource, 0},
    {"ListSnapshotChunksDataset",          "ListSnapshotChunks",          kMemorySource, 0},
    {"LoadDataset",                        "Load",                        kFileSource, 0, kSynchronous, "reader_func"},
    {"MakeIterator",                       "",                            kSink},
    {"MapAndBatchDataset",                 "MapAndBatch",                 kMapBatch, 1, kParallelCalls, "f", -2, 0, -3},
    {"MapDataset",                         "Map",                         kMap, 1, kSynchronous, "f"},
    {"MatchingFilesDataset",               "MatchingFiles",               kMemorySource, 0},
    {"MaxIntraOpParallelismDataset",       "",                            kWrapper},
    {"ModelDataset",                       "",                            kWrapper},
    {"MultiDeviceIterator",                "",                            kSink, 0},
    {"MultiDeviceIteratorFromStringHandle","",                            kSink, 0},
    {"MultiDeviceIteratorGetNextFromShard","",                            kSink, 0},
    {"MultiDeviceIteratorInit",            "",                            kSink},
    {"MultiDeviceIteratorToStringHandle",  "",                            kSink, 0},
    {"NonSerializableDataset",             "NonSerializable",             kPass},
    {"OneShotIterator",                    "",                            kSink, 0},
    {"OptimizeDataset",                    "",                            kWrapper},
    {"OptimizeDatasetV2",                  "",                            kWrapper},
    {"OptionsDataset",                     "",                            kWrapper},
    {"PaddedBatchDataset",                 "PaddedBatch",                 kBatch, 1, kSynchronous, "", 0, 0, 1},
    {"PaddedBatchDatasetV2",               "PaddedBatchV2",               kBatch, 1, kSynchronous, "", 0, 0, 1},
    {"ParallelBatchDataset",               "ParallelBatch",               kBatch, 1, kParallelCalls, "", -2, 0, -3},
    {"ParallelFilterDataset",              "ParallelFilter",              kFilter, 1, kParallelCalls, "predicate", -1},
    {"ParallelInterleaveDataset",          "LegacyParallelInterleave",    kInterleave, 1, kParallelInterleave, "f", -5, -2, 0, -5, -4},
    {"ParallelInterleaveDatasetV2",        "ParallelInterleaveV2",        kInterleave, 1, kParallelInterleave, "f", -1, 0, 0, -3, -2},
    {"ParallelInterleaveDatasetV3",        "ParallelInterleaveV3",        kInterleave, 1, kParallelInterleave, "f", -1, 0, 0, -3, -2},
    {"ParallelInterleaveDatasetV4",        "ParallelInterleaveV4",        kInterleave, 1, kParallelInterleave, "f", -1, -3, 0, -5, -4},
    {"ParallelMapDataset",                 "ParallelMap",                 kMap, 1, kParallelCalls, "f", -1},
    {"ParallelMapDatasetV2",               "ParallelMapV2",               kMap, 1, kParallelCalls, "f", -1},
    {"ParseExampleDataset",                "ParseExample",                kPass, 1, kParallelCalls, "", 1},
    {"ParseExampleDatasetV2",              "ParseExampleV2",              kPass, 1, kParallelCalls, "", 1},
    {"PrefetchDataset",                    "Prefetch",                    kPrefetch, 1, kRunner, "", 0, -1},
    {"PrivateThreadPoolDataset",           "",                            kWrapper},
    {"RandomDataset",                      "Random",                      kMemorySource, 0, kSynchronous, "", 0, 0, 0, 0, 0, -2},
    {"RandomDatasetV2",                    "Random",                      kMemorySource, 0, kSynchronous, "", 0, 0, 0, 0, 0, -3},
    {"RangeDataset",                       "Range",                       kMemorySource, 0},
    {"RebatchDataset",                     "Rebatch",                     kOpaque},
    {"RebatchDatasetV2",                   "RebatchV2",                   kOpaque},
    {"ReduceDataset",                      "",                            kSink, 1, kSynchronous, "f"},
    {"RegisterDataset",                    "",                            kSink},
    {"RegisterDatasetV2",                  "",                            kSink},
    {"RepeatDataset",                      "Repeat",                      kRepeat, 1, kSynchronous, "", 0, 0, -1},
    {"RewriteDataset",                     "",                            kWrapper},
    {"SamplingDataset",                    "Sampling",                    kFilter, 1, kSynchronous, "", 0, 0, 0, 0, 0, -2},
    {"SaveDataset",                        "",                            kSink, 1, kSynchronous, "shard_func"},
    {"SaveDatasetV2",                      "SaveV2",                      kPass, 1, kSynchronous, "shard_func"},
    {"ScanDataset",                        "Scan",                        kScan, 1, kSynchronous, "f"},
    {"SerializeIterator",                  "",                            kSink, 0},
    {"SetStatsAggregatorDataset",          "SetStatsAggregator",          kPass},
    {"ShardDataset",                       "Shard",                       kShard, 1, kSynchronous, "", 0, 0, -2},
    {"ShuffleAndRepeatDataset",            "ShuffleAndRepeat",            kShuffleRepeat, 1, kSynchronous, "", 0, -4, -1, 0, 0, -3},
    {"ShuffleAndRepeatDatasetV2",          "ShuffleAndRepeat",            kShuffleRepeat, 1, kSynchronous, "", 0, -5, -2, 0, 0, -4},
    {"ShuffleDataset",                     "Shuffle",                     kShuffle, 1, kSynchronous, "", 0, -3, 0, 0, 0, -2},
    {"ShuffleDatasetV2",                   "Shuffle",                     kShuffle, 1, kSynchronous, "", 0, -2},
    {"ShuffleDatasetV3",                   "Shuffle",                     kShuffle, 1, kSynchronous, "", 0, -4, 0, 0, 0, -3},
    {"SkipDataset",                        "Skip",                        kSkip, 1, kSynchronous, "", 0, 0, -1},
    {"SleepDataset",                       "Sleep",                       kPass},
    {"SlidingWindowDataset",               "SlidingWindow",               kWindow, 1, kSynchronous, "", 0, 0, -3, 0, 0, 0, -2},
    {"SnapshotChunkDataset",               "SnapshotChunk",               kFileSource, 0},
    {"SnapshotDataset",                    "Snapshot",                    kOpaque},
    {"SnapshotDatasetReader",              "SnapshotDatasetReader",       kFileSource, 0},
    {"SnapshotDatasetV2",                  "Snapshot",                    kOpaque},
    {"SnapshotNestedDatasetReader",        "SnapshotNestedDatasetReader", kOpaque, kInputsN},
    {"SparseTensorSliceDataset",           "SparseTensorSlice",           kMemorySource, 0},
    {"SqlDataset",                         "Sql",                         kFileSource, 0},
    {"TFRecordDataset",                    "TFRecord",                    kFileSource, 0},
    {"TFRecordDatasetV2",                  "TFRecordV2",                  kFileSource, 0},
    {"TakeDataset",                        "Take",                        kTake, 1, kSynchronous, "", 0, 0, -1},
    {"TakeWhileDataset",                   "TakeWhile",                   kTakeWhile, 1, kSynchronous, "predicate"},
    {"TensorDataset",                      "FromTensor",                  kMemorySource, 0},
    {"TensorSliceDataset",                 "TensorSlice",                 kMemorySource, 0},
    {"TextLineDataset",                    "TextLine",                    kFileSource, 0},
    {"ThreadPoolDataset",                  "",                            kWrapper},
    {"UnbatchDataset",                     "Unbatch",                     kUnbatch},
    {"UniqueDataset",                      "Unique",                      kFilter},
    {"UnwrapDatasetVariant",               "",                            kWrapper},
    {"WeightedFlatMapDataset",             "WeightedFlatMap",             kOpaque, kInputsN},
    {"WindowDataset",                      "Window",                      kWindow, 1, kSynchronous, "", 0, 0, -4, 0, 0, 0, -3},
    {"WrapDatasetVariant",                 "",                            kWrapper},
    {"ZipDataset",                         "Zip",                         kZip, kInputsN},
});
// clang-format on

constexpr OpTraits kUnknown{"", "", kOpaque};

constexpr std::string_view kExperimental = "Experimental";

}  // namespace

int input_place(int place, int inputs) {
  const int index = place < 0 ? inputs + place : place;
  return place != 0 && index >= 0 && index < inputs ? index : -1;
}

const OpTraits& op_traits(std::string_view op) {
  if (op.starts_with(kExperimental)) op.remove_prefix(kExperimental.size());
  const auto line = std::ranges::lower_bound(kTable, op, {}, &OpTraits::op);
  return line != kTable.end() && line->op == op ? *line : kUnknown;
}

std::span<const OpTraits> op_table() { return kTable; }

bool is_dataset_op(std::string_view op) {
  const OpTraits& traits = op_traits(op);
  if (traits.op.empty()) return op.find("Dataset") != std::string_view::npos;
  return traits.kind != kSink;
}

bool is_plain_batch(std::string_view op) {
  return op == "BatchDatasetV2" || op == "ParallelBatchDataset";
}

bool is_source(Kind kind) { return kind == kFileSource || kind == kMemorySource; }

}  // namespace plumber
