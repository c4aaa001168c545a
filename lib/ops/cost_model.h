// SPDX-License-Identifier: Apache-2.0
// Predicts the period of a pipeline under a setting of its knobs (design §3: thread segments,
// hand-off).
//
// A chain of synchronous ops runs on one thread; an async boundary (prefetch, parallel map,
// parallel interleave, ...) starts another. Per root element, in seconds:
//   segment thread:   a_i = sum of its nodes' work + n_i W (dispatched calls) + hand-overs C e
//   parallel node:    (b_i + n_i wp) / p
//   parallel interleave: inner segment / min(p, cycle_length, files)
//   CPU:              (sum b + n_i H + 2 C e) / (cores u), only where an async boundary exists;
//                     with the idle cores of pauses.h a bound of the calls that are too few
//                     beside a thread that is as busy, contention.h
//   disk: bytes of file sources / r_d(readers), and of caches in files (disk_load.h)
//   Python lock, consumer's think time Z in the root segment
// The period is the largest of them. W(x), H(x) grow with the work x between two dispatches and C
// with the work an element on the slower side; constants come from the calibration, else built-in
// ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/disk_curve.h"
#include "ops/file_cache.h"
#include "pipeline/pipeline.h"

namespace plumber {

/// Hand-off constants of a machine, s. Defaults: a 2-core virtual machine, TensorFlow 2.21.
struct HandOff {
  double w0 = 28e-6, w1 = 90e-6, tau = 30e-6;  // latency of a dispatched call
  double h0 = 37e-6, h1 = 95e-6;               // its CPU
  double k0 = 4.6e-6, kop = 0.18e-6;           // what node time over-counts: a call, an op of it
  double kpm = 14.4e-6, kpm_many = 26e-6;      // the same for one, several parallel maps
  double p1 = 48e-6;                           // parallel map with p = 1, wall a call
  double wp = 58e-6, wp_inline = 46e-6;        // parallel map with p >= 2
  double hp = 45e-6, hp_inline = 33e-6;
  double runner = 8e-6;                       // a parallel op's runner thread, a call
  double c0 = 3e-6, c1 = 0.33, cmax = 15e-6;  // hand-over of one element through a buffer
  double cache_read = 0.5e-6;                 // one element out of a filled memory cache
  double cache_read_untuned = 0.15e-6;        // the same without AUTOTUNE (bookkeeping.h)
  double component = 0.25e-6;                 // more for each tensor of the element
  double legacy_handover = 15e-6;             // one element out of a legacy parallel interleave
  double cold_copy = 0.25;                    // of a batch's work, more on a thread of its own
  double scale_w = 1, scale_h = 1;            // fitted to the trace (hand_off_fit.h)
  bool scale_clamped = false;                 // the fit wanted more than its range
  bool calibrated = false;                    // the constants are this machine's
};

/// A call with less work than this is short: its threads are mostly waking up. With so many calls
/// in flight for each core there is nearly always one to run.
inline constexpr double kShortCall_s = 200e-6;
inline constexpr double kSpareCalls = 2;

/// kParallelUnbounded: each call in flight has a thread of its own, not one of TensorFlow's pool.
enum class Mode { kNone, kDispatched, kInline, kParallel, kParallelInline, kParallelUnbounded };

/// Demands of one node per root element, whatever the setting.
struct NodeCost {
  double work_s = 0;      // b_i: time a thread is held by the node's own work (I/O waits included)
  double cpu_s = 0;       // CPU of it
  double least_s = 0;     // what its calls take whatever they do: no correction goes below
  double calls = 0;       // n_i: function calls
  double elements = 0;    // e_i = V_i
  double disk_bytes = 0;  // file bytes read
  std::string file{};     // one of them; empty: unknown
  double iterators = 0;   // inner iterators opened (flat_map, interleave)
  bool python = false;    // holds the Python lock
  double file_cache_bytes = 0;  // what a cache on disk above it holds (file_cache.h)
  double bookkeeping_s = 0;     // of work_s and cpu_s, what a program without AUTOTUNE saves
  double elements_left = 0;     // of a take: in a pass of its input when it ends (take_waste.h)
  bool work_clamped = false;    // node time is mostly hand-off: too small to measure
};

struct Costs {
  PerNode<NodeCost> nodes;
  HandOff hand_off;
  bool hand_off_known = true;  // opstats: node time holds the hand-off already, none is added
  double think_time_s = 0;     // Z
};

/// How one node is run.
struct NodeSetting {
  Mode mode = Mode::kNone;
  double parallelism = 1;
  bool prefetch_above = false;  // one more prefetch inserted above it
  // A filled memory cache: of a cache node of the program its own (all below it costs nothing), of
  // any other node one inserted above it (it and all below cost nothing, reading the cache does).
  bool cached = false;
  // One inserted above it is a file on disk: read where it is filled (cached), else written.
  bool on_disk = false;
  bool operator==(const NodeSetting&) const = default;
};
using Setting = PerNode<NodeSetting>;

struct Machine {
  double cores = 1;
  std::vector<Disk> disks{};  // none: reading is never the limit
  std::optional<DiskCache> disk_cache{};
};

enum class BoundKind { kThread, kParallel, kCpu, kDisk, kPythonLock, kConsumer };

struct Bound {
  BoundKind kind{};
  std::vector<NodeId> nodes;  // largest share first
  double bound_per_s = 0;
  bool operator==(const Bound&) const = default;
};

struct Evaluation {
  double period_s = 0;
  std::vector<Bound> bounds;  // ascending; the first is the bottleneck
  PerNode<int> segment;       // segment number of each node, consumer's is 0
  double dispatch_s = 0;      // hand-off latency in the binding segment
  double clamped_work_s = 0;  // work in the binding bound that was too small to measure
  double cpu_s = 0;           // CPU per root element
  double usable_cores = 0;    // cores that can be busy with it; 0: there is one thread only
};

/// True if the node calls a function, for each element or to make data sets, that does something.
bool calls_a_function(const Node& node);

/// Calls in flight, whoever runs their bodies.
bool is_parallel(Mode mode);

/// Data sets that an interleave reads at once: no more than its cycle has.
double readers_at_once(const Node& node, const NodeSetting& setting);

/// True for a node without a function whose copying is less work than handing its elements to
/// another thread.
bool copies_little(const Node& node, const NodeCost& cost);

/// True if the node hands its elements over to another thread under this setting.
bool is_boundary(const Node& node, const NodeSetting& setting);

/// Nodes that run in the steady state under this setting: false for what lies below a filled cache.
PerNode<bool> active_nodes(const Pipeline& pipeline, const Setting& setting);

/// The program as traced: modes and parallelism as they ran; caches filled.
Setting traced_setting(const Pipeline& pipeline);

/// What stock TensorFlow makes of the program by default: map_parallelization,
/// map_and_batch_fusion, inject_prefetch and AUTOTUNE'd parallelism at the core count.
Setting stock_setting(const Pipeline& pipeline, const Machine& machine);

Evaluation evaluate(const Pipeline& pipeline, const Costs& costs, const Setting& setting,
                    const Machine& machine);

/// Latency and CPU of one dispatched call after x seconds of work; hand-over of one element.
double dispatch_latency_s(const HandOff& hand_off, double x_s);
double dispatch_cpu_s(const HandOff& hand_off, double x_s);
double handover_s(const HandOff& hand_off, double x_s);

}  // namespace plumber
