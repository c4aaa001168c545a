// SPDX-License-Identifier: Apache-2.0
// The joint model as a mixed-integer program over the whole pipeline (docs/design.md,
// Optimisation): one way of running for each node, where a prefetch splits a thread segment, where
// a cache stands.
//
//   minimise t, the period of one root element, such that
//   sum_m z_im = active_i          one mode m of each node i that no cache serves
//   own_im z_im <= t               calls of a parallel op: service time over calls in flight
//   in_i + below_im z_im <= t      what stands below a thread boundary is a segment of its own
//   g_i >= in_i + thread_im z_im   what i and its segment below cost the consumer's thread ...
//   g_i >= thread_im z_im          ... and what a boundary costs it: taking the elements over
//   g_root + think time <= t
//   sum of CPU <= cores u t        only where there is a boundary at all
//   disk reads, Python lock <= t   shared by all nodes
//   sum of memory <= budget        calls in flight, prefetch buffers, caches
//
// Everything is seconds per root element, so it is linear in t. Nodes without a choice get no
// column: their cost is carried along in a sum, so that a long chain of them is a short row. A
// second run of the same program takes the fewest edits, then the fewest threads, then the least
// memory, with t held within a tolerance of its optimum.
#pragma once

#include <optional>
#include <vector>

#include "lp/linear_program.h"
#include "lp/solution.h"
#include "pipeline/pipeline.h"

namespace plumber {

/// One way to run a node; s per root element.
struct ModeOption {
  bool boundary = false;         // its elements come from threads of its own
  double thread_s = 0;           // on its consumer's thread
  double below_s = 0;            // boundary: on the thread that pulls its inputs
  double own_s = 0;              // boundary: service time over calls in flight
  double inner_share = 0;        // parallel interleave: 1 / data sets read at a time; else 0
  double inner_s = 0;            // parallel interleave: added to what those data sets cost
  std::vector<double> disk_s{};  // parallel interleave: reading of what it holds, by disk
  double cpu_s = 0;
  double memory_bytes = 0;
  int threads = 0;
  int edits = 0;
};

struct NodeOptions {
  std::vector<ModeOption> modes;     // at least one
  bool prefetch = false;             // one may be put above it
  bool prefetch_by_default = false;  // TensorFlow puts one there unless the node is a boundary
  double prefetch_above_s = 0, prefetch_below_s = 0;  // handing over, on either side
  double prefetch_bytes = 0;
  std::optional<double> cache_bytes;       // a cache may be put above it
  std::optional<double> disk_cache_bytes;  // one may be put there as a file
  double file_read_s = 0;                  // CPU of reading that, and the disk's time
  double file_disk_s = 0;
  double file_write_s = 0;  // one is being written there, whichever mode
  bool served = false;      // a filled cache stands there in the program
  double cache_read_s = 0;
  std::vector<double> disk_s;  // reading, by disk, whichever mode
  double python_s = 0;         // holding the Python lock
};

struct ProgrammeInput {
  const Pipeline* pipeline = nullptr;
  PerNode<NodeOptions> nodes;
  double think_s = 0;
  double usable_cores = 1;  // cores times the share of them that can be busy
  std::size_t disks = 0;
  std::size_t cache_disk = 0;       // the one that caches are read from
  double memory_bytes = kInfinity;  // for what the program decides on
  double room_bytes = kInfinity;    // for caches on disk
};

struct NodeColumns {
  std::vector<ColumnId> modes;  // as many as options; empty if there is one option only
  std::optional<ColumnId> prefetch;
  std::optional<ColumnId> cache;
  std::optional<ColumnId> disk_cache;
};

struct Programme {
  LinearProgram program;
  ColumnId period{};
  double unit_s = 1;  // of time in the program, so that its numbers are near 1000
  PerNode<NodeColumns> columns;
};

/// What the program decided for one node.
struct NodeDecision {
  int mode = 0;
  bool prefetch = false;
  bool cache = false;
  bool on_disk = false;  // the cache
  bool operator==(const NodeDecision&) const = default;
};
using Decisions = PerNode<NodeDecision>;

/// `unit_s`: about a thousandth of the period to be expected.
Programme build_programme(const ProgrammeInput& input, double unit_s);

/// The second run: fewest edits, threads, memory with a period of at most `period_s`.
Programme fewest_edits_programme(Programme programme, const ProgrammeInput& input, double period_s);

Decisions decisions_of(const Programme& programme, const Solution& solution);

}  // namespace plumber
