// SPDX-License-Identifier: Apache-2.0
// A trace as plain values: one program, one or several dumps of its counters, in either dialect.
// Units are normalised here, once: seconds, bytes, elements. Counters are cumulative since the
// first GetNext; several dumps are in the order of their time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tensorflow {
class GraphDef;
}

namespace plumber {

enum class Dialect { kOpstats, kModel, kNone };  // kNone: a program without counters

/// Dialect opstats: counters of one dataset node, by its name, over all its iterators.
struct OpCounters {
  std::string name;
  double elements = 0;
  double service_s = 0;  // wall time inside the node, children left out, all threads
  double cpu_s = 0;      // thread CPU of the same
  double bytes_produced = 0;
  double disk_bytes = 0;    // payload bytes read from files
  double files_opened = 0;  // readers only
  double parallelism = 1;   // -1: AUTOTUNE not resolved
  double element_ratio = 0;
  std::int64_t cardinality = -2;  // -1 infinite, -2 unknown
  double max_buffer_elements = 0;
  double max_bytes_per_element = 0;
};

struct IteratorParameter {
  std::string name;  // "parallelism", "buffer_size", "cycle_length", ...
  double value = 0;
  double state_value = 0;  // what runs now; for tunable ones only
  bool tunable = false;    // the user asked for AUTOTUNE
};

/// Dialect model: one iterator, alive or (kept by the recorder) dead.
struct IteratorNode {
  std::int64_t id = 0;
  std::string name;  // "ParallelMapV2", "ForeverRepeat", ...
  double elements = 0;
  double busy_s = 0;  // wall time inside the node, children left out, all threads
  double bytes_produced = 0;
  double bytes_consumed = 0;
  double buffered_elements = 0;
  double buffered_bytes = 0;
  double ratio = 0;         // input elements per output element; 0: unknown
  double start_busy_s = 0;  // busy_s when it was first seen at work
  double start_elements = 0, start_buffered_elements = 0;  // then
  std::optional<double> consumer_elements;  // its consumer's elements when both were last seen
  bool ended = false;  // alive when the whole data set's iterator came to its end
  std::vector<IteratorParameter> parameters;  // by name
  std::vector<std::int32_t> inputs;           // indices into IteratorTree::iterators
};

struct IteratorTree {
  std::vector<IteratorNode> iterators;  // by id
  std::int32_t root = -1;
  std::vector<double> gap_times_s;  // consumer's think time, the last ones
  double epochs = 0;                // iterators of the whole data set that came to their end
  double epochs_elements = 0;       // root elements of these
};

/// The counters at one moment.
struct Dump {
  double time_s = 0;         // since the first GetNext
  double first_s = 0;        // likewise: the first root element was there; 0: unknown
  double first_cpu_s = 0;    // process_cpu_s then
  double process_cpu_s = 0;  // of the whole process since the first GetNext
  std::vector<OpCounters> ops;
  IteratorTree model;
  std::optional<double> think_time_s;  // opstats: iter_stats.avg_duration
};

struct TraceMachine {
  double cores = 0;               // 0: unknown
  double memory_total_bytes = 0;  // 0: unknown
  double memory_free_bytes = 0;
};

/// Constants of the machine's hand-off costs (docs/formats.md, Calibration); 0: not measured.
struct Calibration {
  double dispatch_base_s = 0, dispatch_deep_s = 0, dispatch_tau_s = 0;
  double dispatch_cpu_base_s = 0, dispatch_cpu_deep_s = 0;
  double node_overcount_s = 0, node_overcount_op_s = 0, parallel_overcount_s = 0;
  double parallel_wall_s = 0, parallel_inline_wall_s = 0;
  double parallel_cpu_s = 0, parallel_inline_cpu_s = 0;
  double handover_base_s = 0, handover_slope = 0, handover_max_s = 0;
  double next_s = 0;
  int cores = 0;
};

struct BufferFill {
  std::int64_t iterator_id = 0;
  double mean_elements = 0;
};

/// What our own recorder adds (field 101).
struct Recorder {
  std::string tensorflow_version;
  std::string mode;  // "bare" or "training"
  double polling_interval_s = 0;
  double pipeline_cpu_s = 0;  // 0: unknown
  double inline_probe_cpu_s = 0;
  double run_queue_wait_s = 0;  // of all threads, ready but without a core; 0: unknown
  std::vector<BufferFill> buffer_fill;
  std::optional<Calibration> calibration;
  std::string element_spec;
};

struct Trace {
  std::string name;  // the file's name without its folder
  Dialect dialect = Dialect::kNone;
  std::shared_ptr<const tensorflow::GraphDef> graph;  // never null
  std::vector<Dump> dumps;                            // empty: no counters
  TraceMachine machine;
  std::map<std::string, double> file_bytes;    // sizes of source files as far as known
  bool file_bytes_are_completed_only = false;  // opstats: only files read to their end are listed
  std::optional<Recorder> recorder;
  std::vector<std::string> warnings;
};

}  // namespace plumber
