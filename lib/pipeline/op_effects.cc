// SPDX-License-Identifier: Apache-2.0
#include "pipeline/op_effects.h"

#include <algorithm>
#include <array>

namespace plumber {
namespace {

using std::string_view;

template <std::size_t N>
bool is_one_of(const std::array<string_view, N>& sorted, string_view op) {
  return std::ranges::binary_search(sorted, op);
}

template <std::size_t N>
bool starts_with_one_of(const std::array<string_view, N>& prefixes, string_view op) {
  return std::ranges::any_of(prefixes, [op](string_view p) { return op.starts_with(p); });
}

// All lists are sorted.
constexpr std::array<string_view, 43> kRandom{"AllCandidateSampler",
                                              "CudnnRNN",
                                              "CudnnRNNV2",
                                              "CudnnRNNV3",
                                              "FixedUnigramCandidateSampler",
                                              "FractionalAvgPool",
                                              "FractionalMaxPool",
                                              "LearnedUnigramCandidateSampler",
                                              "LogUniformCandidateSampler",
                                              "Multinomial",
                                              "NegTrain",
                                              "NonDeterministicInts",
                                              "ParameterizedTruncatedNormal",
                                              "RandomCrop",
                                              "RandomDataset",
                                              "RandomDatasetV2",
                                              "RandomGamma",
                                              "RandomPoisson",
                                              "RandomPoissonV2",
                                              "RandomShuffle",
                                              "RandomStandardNormal",
                                              "RandomUniform",
                                              "RandomUniformInt",
                                              "RecordInput",
                                              "RiscRandomUniform",
                                              "RngReadAndSkip",
                                              "RngSkip",
                                              "SampleDistortedBoundingBox",
                                              "SampleDistortedBoundingBoxV2",
                                              "SamplingDataset",
                                              "Skipgram",
                                              "StatefulRandomBinomial",
                                              "StatefulStandardNormal",
                                              "StatefulStandardNormalV2",
                                              "StatefulTruncatedNormal",
                                              "StatefulUniform",
                                              "StatefulUniformFullInt",
                                              "StatefulUniformInt",
                                              "ThreadUnsafeUnigramCandidateSampler",
                                              "Timestamp",
                                              "TruncatedNormal",
                                              "UniformCandidateSampler",
                                              "WorkerHeartbeat"};

constexpr std::array<string_view, 10> kStateRead{
    "LookupTableExport", "LookupTableExportV2", "LookupTableFind", "LookupTableFindV2",
    "LookupTableSize",   "LookupTableSizeV2",   "ReadVariableOp",  "ReadVariableXlaSplitND",
    "ResourceGather",    "ResourceGatherNd"};

constexpr std::array<string_view, 11> kStateWritePrefixes{"Apply",
                                                          "Assign",
                                                          "InitializeTable",
                                                          "LookupTableImport",
                                                          "LookupTableInsert",
                                                          "LookupTableRemove",
                                                          "ResourceApply",
                                                          "ResourceCountUpTo",
                                                          "ResourceScatter",
                                                          "ResourceSparseApply",
                                                          "ResourceStridedSliceAssign"};

// ScatterNd and its kin compute; these write to a variable.
constexpr std::array<string_view, 14> kStateWrite{
    "CountUpTo",       "ScatterAdd",   "ScatterDiv",    "ScatterMax",        "ScatterMin",
    "ScatterMul",      "ScatterNdAdd", "ScatterNdMax",  "ScatterNdMin",      "ScatterNdSub",
    "ScatterNdUpdate", "ScatterSub",   "ScatterUpdate", "StridedSliceAssign"};

constexpr std::array<string_view, 41> kStatefulPrefixes{"Accumulator",
                                                        "Barrier",
                                                        "BoostedTrees",
                                                        "Collective",
                                                        "Debug",
                                                        "Dequeue",
                                                        "DynamicEnqueue",
                                                        "Enqueue",
                                                        "HostRecv",
                                                        "HostSend",
                                                        "Infeed",
                                                        "IteratorGetNext",
                                                        "MapClear",
                                                        "MapIncomplete",
                                                        "MapPeek",
                                                        "MapSize",
                                                        "MapStage",
                                                        "MapUnstage",
                                                        "MultiDeviceIteratorGetNext",
                                                        "Nccl",
                                                        "OrderedMap",
                                                        "Outfeed",
                                                        "Queue",
                                                        "ReaderNum",
                                                        "ReaderRead",
                                                        "ReaderReset",
                                                        "ReaderRestore",
                                                        "ReaderSerialize",
                                                        "ResourceAccumulator",
                                                        "ResourceConditionalAccumulator",
                                                        "Rpc",
                                                        "SparseAccumulator",
                                                        "SparseApply",
                                                        "StackClose",
                                                        "StackPop",
                                                        "StackPush",
                                                        "Stage",
                                                        "TPU",
                                                        "Write",
                                                        "XlaRecv",
                                                        "XlaSend"};

constexpr std::array<string_view, 29> kStateful{"AddManySparseToTensorsMap",
                                                "AddSparseToTensorsMap",
                                                "CalibrationStatisticsSaver",
                                                "CloseSummaryWriter",
                                                "ConsumeMutexLock",
                                                "CreateSummaryDbWriter",
                                                "CreateSummaryFileWriter",
                                                "DatasetToTFRecord",
                                                "DistributedSave",
                                                "DumpTensor",
                                                "FlushSummaryWriter",
                                                "GetSessionHandle",
                                                "GetSessionHandleV2",
                                                "GetSessionTensor",
                                                "ImportEvent",
                                                "MergeV2Checkpoints",
                                                "MutexLock",
                                                "Recv",
                                                "RegisterDataset",
                                                "RegisterDatasetV2",
                                                "RemoteCall",
                                                "Save",
                                                "SaveDataset",
                                                "SaveSlices",
                                                "SaveV2",
                                                "Send",
                                                "TakeManySparseFromTensorsMap",
                                                "TemporaryVariable",
                                                "Unstage"};

constexpr std::array<string_view, 3> kPython{"EagerPyFunc", "PyFunc", "PyFuncStateless"};

constexpr std::array<string_view, 21> kControlFlow{"Case",
                                                   "Enter",
                                                   "Exit",
                                                   "If",
                                                   "LoopCond",
                                                   "Merge",
                                                   "NextIteration",
                                                   "RefEnter",
                                                   "RefExit",
                                                   "RefMerge",
                                                   "RefNextIteration",
                                                   "RefSwitch",
                                                   "StatelessCase",
                                                   "StatelessIf",
                                                   "StatelessWhile",
                                                   "Switch",
                                                   "While",
                                                   "_If",
                                                   "_SwitchN",
                                                   "_While",
                                                   "_XlaMerge"};

constexpr std::array<string_view, 9> kShardAlways{
    "BatchMatMul",          "BatchMatMulV2", "BatchMatMulV3",         "Conv2D",
    "Conv2DBackpropInput",  "Conv3D",        "DepthwiseConv2dNative", "ScaleAndTranslate",
    "ScaleAndTranslateGrad"};

constexpr std::array<string_view, 35> kShardWhenLarge{
    "Abs",       "Add",         "AddV2",    "All",     "Any",      "BroadcastTo", "Cast",
    "Ceil",      "ClipByValue", "ConcatV2", "Div",     "DivNoNan", "Equal",       "Exp",
    "Floor",     "Log",         "Max",      "Maximum", "Mean",     "Min",         "Minimum",
    "MirrorPad", "Mul",         "Neg",      "OneHot",  "Pad",      "PadV2",       "Prod",
    "RealDiv",   "Relu",        "Sqrt",     "Square",  "Sub",      "Sum",         "Tanh"};

}  // namespace

OpEffect op_effect(string_view op) {
  if (op.starts_with("_")) op.remove_prefix(1);  // internal spellings: _Send, _ReadVariablesOp
  if (is_one_of(kPython, op)) return OpEffect::kPython;
  if (is_one_of(kRandom, op)) return OpEffect::kRandom;
  if (is_one_of(kStateRead, op) || op == "ReadVariablesOp") return OpEffect::kStateRead;
  if (is_one_of(kStateWrite, op) || starts_with_one_of(kStateWritePrefixes, op))
    return OpEffect::kStateWrite;
  if (is_one_of(kStateful, op) || starts_with_one_of(kStatefulPrefixes, op))
    return OpEffect::kStateful;
  return op.find('>') == string_view::npos ? OpEffect::kPure : OpEffect::kStateful;
}

bool is_control_flow(string_view op) { return is_one_of(kControlFlow, op); }

Sharding sharding(string_view op) {
  if (op == "Transpose" || op == "ConjugateTranspose") return Sharding::kCube;
  if (op == "Softmax" || op == "LogSoftmax") return Sharding::kMatrix;
  if (is_one_of(kShardAlways, op)) return Sharding::kAlways;
  return is_one_of(kShardWhenLarge, op) ? Sharding::kWhenLarge : Sharding::kNever;
}

}  // namespace plumber
