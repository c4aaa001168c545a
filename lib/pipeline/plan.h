// SPDX-License-Identifier: Apache-2.0
// The vocabulary of changes: what an optimiser may ask of a rewriter. A plan is bound to one
// program by its fingerprint; edits are applied in order and name nodes of the program as traced.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace plumber {

enum class EditKind {
  kSetParallelism,      // node, value: calls in flight
  kConvert,             // node, to: new op, value: parallelism
  kSequential,          // node: parallel map (interleave, ...) back to its sequential op
  kInline,              // node: run the function on the caller's thread
  kParallelInline,      // node, value: p calls, body on the single-threaded executor
  kParallelUnbounded,   // node, value: p calls, each on a thread of its own
  kPassThroughFilter,   // node
  kMoveIntoFunction,    // node, to: the interleave
  kUnfuse,              // node: MapAndBatch back into map and batch
  kInsertPrefetch,      // node: the one below, value: buffer size
  kSetBuffer,           // node, value: buffer size
  kInsertCache,         // node: the one below, to: file name, "" in memory; value: program_hash
                        // of the only program that may use the file
  kRehomeCache,         // node: an existing memory cache gets a DummyMemoryCache of its own
  kReorder,             // node goes below to: right above a 1:1 map
  kRemove,              // node; an unbatch goes with the batch right below it
  kSetOptions,          // to: path in tf.data.Options, value; no value: unset
  kBalance,             // node: the topmost of nested concatenations
  kInsertPartialCache,  // node: the one below, to: the list of files, value: files cached
  kInsertChunks,        // node: the one below, value: elements of a chunk, to: chunks at once
  kLengthenCycle,       // node: an interleave, value: data sets that it reads in turn
};

using EditValue = std::variant<std::monostate, bool, std::int64_t, std::string>;

struct Edit {
  std::string id;  // "E1", "E2", ... in the order of application
  EditKind kind{};
  std::string node;  // empty for set_options
  std::string to;
  EditValue value;
  std::string reason;  // why, with the numbers of the trace
  std::optional<double> gain_per_s;
  std::string python;  // the line to change for people who edit the source
  bool operator==(const Edit&) const = default;
};

struct Plan {
  std::string graph_fingerprint;
  std::vector<Edit> edits;
  std::map<std::string, std::string> environment;
  std::vector<std::string> permissions{};  // what it was allowed to change, as --allow names it
  bool operator==(const Plan&) const = default;
};

/// The node that insert_chunks above `node` makes, whose function works on one chunk, and the batch
/// that it reads.
std::string chunks_name(const std::string& node);
std::string chunk_name(const std::string& node);

/// The map that unfuse takes out of `node`, which stays as the batch. Later edits of the plan may
/// name it; of those that name `node`, the ones about a function mean the map, too.
std::string unfused_map_name(const std::string& node);

/// "set_parallelism", ...: the word in plan files.
std::string edit_word(EditKind kind);

/// The kind of a word, nullopt if there is none.
std::optional<EditKind> edit_kind(const std::string& word);

/// All words, in the order of EditKind.
std::vector<std::string> edit_words();

}  // namespace plumber
