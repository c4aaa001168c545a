// SPDX-License-Identifier: Apache-2.0
#include "pipeline/python_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace plumber {
namespace {

constexpr const char* kUntold = "...";

// What stands before the arguments and after them. An op that is not here has no Python.
struct PythonForm {
  std::string_view op;
  std::string_view start;
  std::string_view end = ")";
};

// Sorted by op, as TensorFlow 2.21 exports them. Not wrapped: one line an op.
// clang-format off
constexpr auto kForms = std::to_array<PythonForm>({
    {"AssertCardinalityDataset",          ".apply(tf.data.experimental.assert_cardinality(", "))"},
    {"BatchDataset",                      ".batch("},
    {"BatchDatasetV2",                    ".batch("},
    {"CSVDataset",                        "tf.data.experimental.CsvDataset("},
    {"CSVDatasetV2",                      "tf.data.experimental.CsvDataset("},
    {"CacheDataset",                      ".cache("},
    {"CacheDatasetV2",                    ".cache("},
    {"ConcatenateDataset",                ".concatenate("},
    {"DataServiceDataset",                ".apply(tf.data.experimental.service.distribute(", "))"},
    {"DataServiceDatasetV2",              ".apply(tf.data.experimental.service.distribute(", "))"},
    {"DataServiceDatasetV3",              ".apply(tf.data.experimental.service.distribute(", "))"},
    {"DataServiceDatasetV4",              ".apply(tf.data.experimental.service.distribute(", "))"},
    {"DenseToSparseBatchDataset",         ".sparse_batch("},
    {"DirectedInterleaveDataset",         "tf.data.Dataset.sample_from_datasets("},
    {"FilterDataset",                     ".filter("},
    {"FixedLengthRecordDataset",          "tf.data.FixedLengthRecordDataset("},
    {"FixedLengthRecordDatasetV2",        "tf.data.FixedLengthRecordDataset("},
    {"FlatMapDataset",                    ".flat_map("},
    {"GeneratorDataset",                  "tf.data.Dataset.from_generator("},
    {"GroupByReducerDataset",             ".apply(tf.data.experimental.group_by_reducer(", "))"},
    {"GroupByWindowDataset",              ".group_by_window("},
    {"IgnoreErrorsDataset",               ".ignore_errors("},
    {"InterleaveDataset",                 ".interleave("},
    {"LegacyParallelInterleaveDatasetV2", ".apply(tf.data.experimental.parallel_interleave(", "))"},
    {"ListDataset",                       "tf.data.experimental.from_list("},
    {"LoadDataset",                       "tf.data.Dataset.load("},
    {"MapAndBatchDataset",                ".apply(tf.data.experimental.map_and_batch(", "))"},
    {"MapDataset",                        ".map("},
    {"OptionsDataset",                    ".with_options("},
    {"PaddedBatchDataset",                ".padded_batch("},
    {"PaddedBatchDatasetV2",              ".padded_batch("},
    {"ParallelBatchDataset",              ".batch("},
    {"ParallelFilterDataset",             ".filter("},
    {"ParallelInterleaveDataset",         ".apply(tf.data.experimental.parallel_interleave(", "))"},
    {"ParallelInterleaveDatasetV2",       ".interleave("},
    {"ParallelInterleaveDatasetV3",       ".interleave("},
    {"ParallelInterleaveDatasetV4",       ".interleave("},
    {"ParallelMapDataset",                ".map("},
    {"ParallelMapDatasetV2",              ".map("},
    {"ParseExampleDataset",               ".apply(tf.data.experimental.parse_example_dataset(", "))"},
    {"ParseExampleDatasetV2",             ".apply(tf.data.experimental.parse_example_dataset(", "))"},
    {"PrefetchDataset",                   ".prefetch("},
    {"RandomDataset",                     "tf.data.Dataset.random("},
    {"RandomDatasetV2",                   "tf.data.Dataset.random("},
    {"RangeDataset",                      "tf.data.Dataset.range("},
    {"RebatchDatasetV2",                  ".rebatch("},
    {"RepeatDataset",                     ".repeat("},
    {"SaveDatasetV2",                     ".save("},
    {"ScanDataset",                       ".scan("},
    {"ShardDataset",                      ".shard("},
    {"ShuffleAndRepeatDataset",           ".apply(tf.data.experimental.shuffle_and_repeat(", "))"},
    {"ShuffleAndRepeatDatasetV2",         ".apply(tf.data.experimental.shuffle_and_repeat(", "))"},
    {"ShuffleDataset",                    ".shuffle("},
    {"ShuffleDatasetV2",                  ".shuffle("},
    {"ShuffleDatasetV3",                  ".shuffle("},
    {"SkipDataset",                       ".skip("},
    {"SnapshotDataset",                   ".snapshot("},
    {"SnapshotDatasetV2",                 ".snapshot("},
    {"SparseTensorSliceDataset",          "tf.compat.v1.data.Dataset.from_sparse_tensor_slices("},
    {"SqlDataset",                        "tf.data.experimental.SqlDataset("},
    {"TFRecordDataset",                   "tf.data.TFRecordDataset("},
    {"TFRecordDatasetV2",                 "tf.data.TFRecordDataset("},
    {"TakeDataset",                       ".take("},
    {"TakeWhileDataset",                  ".take_while("},
    {"TensorDataset",                     "tf.data.Dataset.from_tensors("},
    {"TensorSliceDataset",                "tf.data.Dataset.from_tensor_slices("},
    {"TextLineDataset",                   "tf.data.TextLineDataset("},
    {"UnbatchDataset",                    ".unbatch("},
    {"UniqueDataset",                     ".unique("},
    {"WindowDataset",                     ".window("},
    {"ZipDataset",                        "tf.data.Dataset.zip("},
});
// clang-format on

const PythonForm* form_of(std::string_view op) {
  constexpr std::string_view kExperimental = "Experimental";
  if (op.starts_with(kExperimental)) op.remove_prefix(kExperimental.size());
  const auto form = std::ranges::lower_bound(kForms, op, {}, &PythonForm::op);
  return form != kForms.end() && form->op == op ? &*form : nullptr;
}

bool is_name_character(char c) {
  return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

// The name that the user gave the function; empty for a lambda and what TensorFlow calls so itself.
std::string function_name(const Node& node) {
  const std::string name = node.function ? node.function->source_name : "";
  const bool is_name = std::ranges::all_of(name, is_name_character);
  return !is_name || name == "lambda" || name.starts_with("Dataset_") ? "" : name;
}

std::string number(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : kUntold;
}

std::string buffer(const std::optional<std::int64_t>& value) {
  return value == kAutotune ? "tf.data.AUTOTUNE" : number(value);
}

std::vector<std::string> interleave_arguments(const Node& node) {
  std::vector<std::string> arguments;
  if (node.cycle_length && *node.cycle_length > 0)
    arguments.push_back(fmt::format("cycle_length={}", *node.cycle_length));
  if (node.block_length && *node.block_length > 1)
    arguments.push_back(fmt::format("block_length={}", *node.block_length));
  return arguments;
}

std::vector<std::string> arguments_of(const Node& node) {
  const std::string name = function_name(node);
  const std::string function = name.empty() ? kUntold : name;
  switch (node.kind) {
    case Kind::kPrefetch:
      return {buffer(node.buffer_size)};
    case Kind::kShuffle:
    case Kind::kShuffleRepeat:
      return {number(node.buffer_size)};
    case Kind::kRepeat:
      if (node.count && *node.count < 0) return {};
      return {number(node.count)};
    case Kind::kTake:
    case Kind::kSkip:
    case Kind::kBatch:
    case Kind::kWindow:
      return {number(node.count)};
    case Kind::kShard:
      return {number(node.count), kUntold};
    case Kind::kMapBatch:
      return {function, number(node.count)};
    case Kind::kScan:
      return {kUntold, function};
    case Kind::kGroup:
      return {function, kUntold};
    case Kind::kCache:
      if (!node.cache_file.empty()) return {kUntold};
      return {};
    case Kind::kUnbatch:
      return {};
    case Kind::kInterleave: {
      std::vector<std::string> arguments = interleave_arguments(node);
      arguments.insert(arguments.begin(), function);
      return arguments;
    }
    default:
      break;
  }
  const PythonForm* form = form_of(node.op);  // which does not ask how experimental the op was
  const std::string_view op = form ? form->op : "";
  if (op == "UniqueDataset" || op == "IgnoreErrorsDataset") return {};
  if (op == "AssertCardinalityDataset") return {number(node.count)};
  return {function};
}

std::string call(const Node& node, const std::string& more) {
  const PythonForm* form = form_of(node.op);
  if (!form) return node.op;
  std::vector<std::string> arguments = arguments_of(node);
  if (!more.empty()) arguments.push_back(more);
  return fmt::format("{}{}{}", form->start, fmt::join(arguments, ", "), form->end);
}

// A dict and a tuple of tensors look alike in the program, but not in a lambda.
std::string parallel_filter(const Node& node, const std::string& calls) {
  if (node.components != 1) return "";
  const std::string name = function_name(node);
  return fmt::format(
      ".map(lambda x: (x, {}(x)), num_parallel_calls={}).filter(lambda x, keep: keep)"
      ".map(lambda x, keep: x)",
      name.empty() ? "predicate" : name, calls);
}

}  // namespace

std::string python_call(const Node& node) { return call(node, ""); }

std::string python_call_in_parallel(const Node& node, const std::string& calls) {
  if (node.kind == Kind::kFilter) return parallel_filter(node, calls);
  const PythonForm* form = form_of(node.op);
  const bool takes_calls = form && (form->start == ".map(" || form->start == ".batch(" ||
                                    form->start == ".interleave(" || node.kind == Kind::kMapBatch ||
                                    node.op.starts_with("ParseExample"));
  return takes_calls ? call(node, "num_parallel_calls=" + calls) : "";
}

std::string python_call_on_own_threads(const Node& map, const std::string& calls) {
  std::string call = python_call_in_parallel(map, calls);
  return call.insert(call.size() - 1, ", use_unbounded_threadpool=True");
}

std::string python_at(const std::string& call, const std::string& place) {
  return call + "  # " + place;
}

}  // namespace plumber
