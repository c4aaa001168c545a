// SPDX-License-Identifier: Apache-2.0
// The pipeline as a graph of dataset nodes with their counters: what analysis and optimisation work
// on. Main-graph nodes and the data sets inside functions stand in one list, source first; a node
// inside a function is named OUTER>INNER, nested as deep as needed. No protobuf types here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/op_table.h"
#include "trace/trace.h"

namespace plumber {

enum class NodeId : std::int32_t {};
constexpr std::size_t index_of(NodeId id) { return static_cast<std::size_t>(id); }

/// One value for each node of a pipeline.
template <class T>
class PerNode {
 public:
  PerNode() = default;
  explicit PerNode(std::size_t size, const T& value = T()) : values_(size, value) {}
  decltype(auto) operator[](NodeId id) { return values_[index_of(id)]; }
  decltype(auto) operator[](NodeId id) const { return values_[index_of(id)]; }
  std::size_t size() const { return values_.size(); }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool operator==(const PerNode&) const = default;

 private:
  std::vector<T> values_;
};

constexpr std::int64_t kAutotune = -1;

/// What a user function reaches through any call (design §4, cache rule): facts, not judgements.
struct FunctionFacts {
  int ops = 0;                        // ops, calls inlined
  std::vector<std::string> random;    // ops whose value differs from call to call, sorted, unique
  std::vector<std::string> stateful;  // ops with effects or state of their own
  std::vector<std::string> python;    // PyFunc, EagerPyFunc, ...
  std::vector<std::string> control_flow;
  std::vector<std::string> sharding;  // kernels that shard over the intra-op pool
  std::vector<std::string> missing;   // called functions that the library lacks
  bool recursive = false;
  bool short_circuit = false;               // only passes inputs on: TensorFlow makes no call
  bool identity = false;                    // all of them, in their order, and nothing else
  std::vector<std::string> state_reads;     // reads of variables and tables: op_effects.h
  std::vector<std::string> sharding_large;  // kernels that shard from ~100,000 elements on
  std::vector<std::string> locking;         // kernels whose parallel calls share one lock (regex)
  // Random ops that give the same values in each run if their calls keep their order.
  std::vector<std::string> seeded;
  std::vector<std::string> file_reads;  // ops that wait for files
};

struct Function {
  std::string name;         // as in the library
  std::string source_name;  // what the user wrote: "_parse" of "__inference_Dataset_map__parse_69"
  FunctionFacts facts;
  // Why a map's function, called with a batch, would not give the batch of its results
  // (batch_form.h); empty: it would.
  std::string why_not_batched = "it is not a map's";
};

/// Counters of a node at one dump, over all its iterators (kept ones; polling may have lost some).
struct Counters {
  double elements = 0;
  double service_s = 0;
  double cpu_s = 0;  // opstats only
  double bytes_produced = 0;
  double disk_bytes = 0;    // opstats: payload bytes read
  double files_opened = 0;  // opstats readers
  double iterators = 0;     // model: iterators seen
  // Model: elements that service_s was spent on; one that waits in a shuffle's buffer counts half.
  double worked_elements = 0;
  double start_service_s = 0;    // of service_s: before the iterators were first seen at work
  double start_elements = 0;     // of worked_elements, likewise
  double consumer_elements = 0;  // its consumers' elements when they were last seen with it
  double ended_iterators = 0;    // alive when the whole data set's iterator came to its end
  double ended_elements = 0;     // elements of these
  double gone_iterators = 0;     // model: that ended while their consumer went on (a file's reader)
  double gone_elements = 0;      // of these, as last seen
  double gone_squares = 0;       // sum of the squares of their elements
  double live_elements = 0;      // of those alive at the dump
  double buffered_elements = 0;
  double buffered_bytes = 0;
  bool operator==(const Counters&) const = default;
};

struct Node {
  std::string name;
  std::string op;
  Kind kind = Kind::kOpaque;
  Threading threading = Threading::kSynchronous;
  std::vector<NodeId> inputs;        // dataset inputs, graph order
  std::vector<NodeId> inner;         // roots of the data sets that its functions make
  std::optional<NodeId> outer;       // the node whose function holds this one
  double partial_cache_bytes = 0;    // a plan keeps so much of its elements in memory
  bool cache_removed = false;        // a plan takes the memory cache above it away
  bool moved_inside = false;         // a plan puts it there: it stands in the main graph as traced
  bool on_batches = false;           // of a map: a plan has put a batch below it
  bool new_reader = false;           // a plan gives its elements to another node than before
  std::string made_above;            // a plan makes it; the node as traced that it works for
  bool unfused = false;              // of a map: a plan takes it out of a map and batch in one
  std::optional<Function> function;  // the per-element function (map, filter, interleave, ...)
  std::vector<Function> other_functions;

  // Scalars of the program; nullopt: absent or not a constant.
  std::optional<std::int64_t> parallelism;  // kAutotune if AUTOTUNE
  std::optional<std::int64_t> buffer_size;  // prefetch, shuffle; kAutotune if AUTOTUNE
  std::optional<std::int64_t> count;        // take, skip, repeat, batch/window size, shards
  std::optional<std::int64_t> cycle_length;
  std::optional<std::int64_t> block_length;
  std::optional<std::int64_t> prefetched_inputs;  // interleave: data sets made ahead of the cycle
  std::optional<std::int64_t> shift;   // windows: elements from the start of one to the next
  std::optional<std::int64_t> stride;  // windows: input elements from one of its own to the next
  std::optional<std::int64_t> source_elements;  // range, slices, tensor: elements of one pass
  std::vector<std::string> file_names;          // where the program spells them out
  bool compressed = false;                      // a reader: its files are not known to be plain
  std::string cache_file;                       // cache(filename); empty: in memory
  bool drop_remainder = false;
  bool deterministic = true;
  bool determinism_by_options = false;  // the op leaves it to Options.deterministic
  bool reshuffle_each_iteration = true;
  bool stop_on_empty = false;
  bool inter_op = true;       // use_inter_op_parallelism
  bool own_threads = false;   // use_unbounded_threadpool
  bool fixed_seed = false;    // shuffle/random source with a constant, non-zero seed
  int components = 1;         // tensors of one element
  bool equal_shapes = false;  // its elements are plain tensors that all have the same shapes
  bool equal_rows = false;    // of a map and batch in one: the same of the rows of its elements
  bool plain_tensors = true;  // they hold no sparse or ragged tensors, and the program says so
  bool scalars_known = true;  // all inputs but data sets and what functions capture are constants

  // What ran (model: state_value of a tunable parameter; opstats: traced parallelism).
  std::optional<double> traced_parallelism;
  std::optional<double> traced_buffer_size;
  bool autotuned = false;
  std::optional<double> buffer_fill;     // mean elements in the buffer, by the recorder
  std::int64_t traced_cardinality = -2;  // opstats: -1 infinite, -2 unknown
  bool aligned = false;                  // counters were found for it
  bool fused_upward = false;  // its counters are those of a fused node (MapAndBatch, ...) above it
};

/// A tensor that stands in the program itself, of 1 MiB or more.
struct LargeConstant {
  std::string node;  // the data set that takes it, else its own name
  double bytes = 0;
  bool operator==(const LargeConstant&) const = default;
};

struct Unaligned {
  std::vector<std::string> graph;  // nodes of the program without counters
  std::vector<std::string> model;  // iterators without a node of the program
  // Of `graph`: every iterator has its node, so these had none that lived long enough to be seen.
  std::vector<std::string> unseen;
};

/// The consumer of the root's elements.
struct Consumer {
  std::optional<double> think_time_s;  // Z as traced
  bool bare = true;                    // only the recorder pulled
};

struct PipelineDump {
  double time_s = 0;
  double process_cpu_s = 0;
  double first_s = 0, first_cpu_s = 0;  // both when the first root element came; 0: unknown
  double root_elements = 0;
  double epochs = 0;           // model: passes of the whole data set that came to their end
  double epochs_elements = 0;  // root elements of these
  PerNode<Counters> counters;
};

/// What the program's own Options let stock TensorFlow do.
struct ProgramOptions {
  bool autotune = true;
  bool parallelises_maps = true;  // only with AUTOTUNE
  bool injects_prefetch = true;   // only with AUTOTUNE
};

struct Pipeline {
  std::string name;
  Dialect dialect = Dialect::kNone;
  std::vector<Node> nodes;  // source first: a node stands after its inputs and its inner nodes
  NodeId root{};
  std::vector<PipelineDump> dumps;
  Consumer consumer;
  TraceMachine machine;
  std::optional<Recorder> recorder;
  std::map<std::string, double> file_bytes;
  bool file_bytes_are_completed_only = false;
  std::vector<std::string> recorder_options;  // Options fields that the tracer set, to be dropped
  ProgramOptions options;
  std::string graph_fingerprint;
  std::string program_hash;                    // fingerprint.h; empty: nobody asked for it
  std::vector<LargeConstant> large_constants;  // in the order of the program
  Unaligned unaligned;
  std::vector<std::string> warnings;

  const Node& operator[](NodeId id) const { return nodes[index_of(id)]; }
  Node& operator[](NodeId id) { return nodes[index_of(id)]; }
  std::size_t size() const { return nodes.size(); }
};

/// Builds the graph of a trace and joins the counters to it. Throws Error(kInput) on a program that
/// has no root, a cycle or two nodes of one name; all else that does not fit is reported in the
/// result.
Pipeline build_pipeline(const Trace& trace);

/// The node of that name, or nullopt.
std::optional<NodeId> find_node(const Pipeline& pipeline, const std::string& name);

}  // namespace plumber
