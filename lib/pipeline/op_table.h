// SPDX-License-Identifier: Apache-2.0
// What plumber knows of each dataset op: one line an op in op_table.cc. An op that is not in the
// table is opaque: its inputs are found by type, it keeps its measured ratio and is never edited.
#pragma once

#include <span>
#include <string_view>

namespace plumber {

/// How many elements of its input(s) one element of the node takes, and what it is for.
enum class Kind {
  kFileSource,    // reads files: TFRecord, TextLine, FixedLengthRecord, CSV, ...
  kMemorySource,  // TensorSlice, Tensor, Range, Random, Generator, ...
  kMap,           // 1:1 with a function
  kPass,          // 1:1 without a function: prefetch apart, options, assert, ...
  kPrefetch,
  kShuffle,
  kRepeat,
  kShuffleRepeat,
  kTake,
  kSkip,
  kShard,
  kBatch,        // batch_size inputs an element
  kMapBatch,     // a map and a batch in one
  kFilter,       // measured ratio, function per input element
  kFlatMap,      // inner data sets one after another
  kInterleave,   // inner data sets in turn
  kZip,          // one element of every input
  kConcatenate,  // inputs one after another
  kMixture,      // DirectedInterleave: input 0 selects among the others
  kCache,
  kUnbatch,
  kWindow,  // `size` inputs an element, elements are data sets
  kGroup,   // group_by_window, bucketing
  kScan,    // 1:1 with a function that carries state
  kTakeWhile,
  kWrapper,  // no iterator of its own: Options, Model, MaxIntraOp, PrivateThreadPool
  kOpaque,
  kSink,  // takes a data set or an iterator but makes no data set: Reduce, Save, Iterator, ...
};

/// Which threads run the node.
enum class Threading {
  kSynchronous,    // the caller's thread
  kRunner,         // a thread of its own: prefetch
  kParallelCalls,  // p calls in flight: ParallelMap, ParallelBatch, MapAndBatch, ParallelFilter
  kParallelInterleave,
};

constexpr int kInputsN = -1;
constexpr int kInputs1N = -2;

struct OpTraits {
  std::string_view op;          // GraphDef op
  std::string_view model_name;  // iterator's name in a ModelProto; "" if it has none
  Kind kind = Kind::kOpaque;
  // How many, before all other inputs; kInputsN: attribute N of them, kInputs1N: one more.
  int dataset_inputs = 1;
  Threading threading = Threading::kSynchronous;
  std::string_view function = "";  // attribute that holds the per-element function; "" if none
  // Places of scalar inputs, counted from the end (-1 is the last one), because captured arguments
  // stand before them; 0: the op has none. Positive, where tensors of unknown number follow:
  // counted from the front (PaddedBatch's size, ParseExample's calls). input_place() reads both.
  int parallelism_input = 0;
  int buffer_input = 0;  // prefetch/shuffle buffer size
  int count_input = 0;   // take/skip/repeat count, window or batch size, shards
  int cycle_input = 0;   // cycle_length
  int block_input = 0;   // block_length
  int seed_input = 0;    // seed; seed2 stands right after it
  int shift_input = 0;   // between the starts of two windows; their stride stands right after it
};

/// The index of the scalar at `place` (see OpTraits) among `inputs` data inputs; -1 if there is
/// none.
int input_place(int place, int inputs);

/// The op's line; for an unknown op a line of kind kOpaque (whose `op` is empty). The spelling
/// "ExperimentalX" shares the line of X.
const OpTraits& op_traits(std::string_view op);

/// All lines, in the order of the table.
std::span<const OpTraits> op_table();

/// True for ops that make a data set: known ones but sinks, and unknown ones whose name contains
/// "Dataset".
bool is_dataset_op(std::string_view op);

bool is_source(Kind kind);

/// True for a batch whose elements are rows of what it reads: no padding, nothing sparse.
bool is_plain_batch(std::string_view op);

}  // namespace plumber
