// SPDX-License-Identifier: Apache-2.0
// Operational analysis of a trace (design §3): visit ratios, demands, rates, utilisation, sizes,
// bounds and the verdict. Rates are root elements per second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/buffer_levels.h"
#include "ops/cost_model.h"
#include "pipeline/pipeline.h"

namespace plumber {

/// Elements of one epoch: a number, unknown, or infinite.
struct Cardinality {
  enum class Kind { kKnown, kUnknown, kInfinite } kind = Kind::kUnknown;
  double elements = 0;
  bool operator==(const Cardinality&) const = default;
};

/// What randomness lies below a node (design §4, cache rule).
enum class CacheClass { kExact, kOrder, kContent };

struct CacheVerdict {
  CacheClass cache_class = CacheClass::kExact;
  bool legal = false;        // by default, without any --allow
  std::string reason;        // why not, or what it costs
  std::string allow;         // the permission that would make it legal; empty: none
  bool python_only = false;  // content only by Python functions
};

/// How the CPU of a node is known, the surest first.
enum class CpuBasis {
  kThreadClock,  // opstats: the threads' CPU clocks
  kNodeTime,     // time in the node, which cannot wait and had its core
  kScaled,       // the same, waits for a core taken out of all nodes alike
  kAtMost,       // may wait (files, Python): what CPU the other nodes leave
  kUnknown,
};

struct NodeAnalysis {
  double elements = 0;     // C_i, what polling lost put back
  double visit_ratio = 0;  // V_i
  bool visit_structural = false;
  double calls = 0;                           // N_i per root element
  double service_s = 0;                       // s_i per element
  std::optional<double> cpu_s_per_element;    // d_i; unknown for sources of the model dialect
  CpuBasis cpu_basis = CpuBasis::kUnknown;    // how sure that is
  double demand_s = 0;                        // D_i = V_i d_i (s_i where d_i is unknown)
  std::optional<double> rate_per_core_per_s;  // 1 / D_i; nullopt: no CPU used, unlimited
  double busy_cores = 0;                      // U_i
  std::optional<double> parallelism;          // calls in flight; nullopt: unresolved AUTOTUNE
  bool autotuned = false;
  int segment = 0;
  double bytes_per_element = 0;
  double disk_bytes = 0;  // per root element
  Cardinality elements_per_epoch;
  std::optional<double> materialized_bytes;
  // Half the width of their 95 % intervals (size_error.h); nullopt where the number is unknown.
  std::optional<double> elements_error, materialized_error_bytes;
  double held_bytes = 0;
  std::optional<double> buffer_fill;
  bool below_cache = false;
  CacheVerdict cache;
};

enum class Verdict { kInputBound, kConsumerBound, kBalanced, kUnknown };

struct MemoryItem {
  std::string node;
  std::string what;  // "shuffle buffer", "prefetch", "calls in flight", "cache", ...
  double bytes = 0;
  bool operator==(const MemoryItem&) const = default;
};

struct Memory {
  double held_bytes = 0;          // by one process
  std::vector<MemoryItem> items;  // largest first
  double processes = 1;           // on the host
};

enum class Severity { kError, kWarning, kHint };

struct Finding {
  std::string id;  // "augmentation-frozen", ...
  Severity severity = Severity::kHint;
  std::vector<std::string> nodes;
  std::string text;
  std::string evidence;
  std::optional<double> gain_per_s;
  std::string python;  // empty: none
};

struct Trust {
  std::optional<double> cpu_ratio;  // process CPU / sum of node time
  std::optional<double> coverage;   // node time of the root's segment / (elapsed - gaps)
};

struct Rate {
  std::optional<double> observed_per_s;  // nullopt: no time passed
  std::optional<std::pair<double, double>> ci95_per_s;
  std::optional<double> start_s;  // before it: until the first element
  // Of each epoch where epochs are short: what its elements do not explain; the rate holds it.
  std::optional<double> epoch_start_s;
  // Of the traced time, by the lowest bound, where only the recorder pulled: what no node's work
  // explains. From kMuchUnexplained on the bounds say little about this machine.
  double unexplained_share = 0;
};

constexpr double kMuchUnexplained = 0.5;

struct ConsumerAnalysis {
  std::optional<double> think_time_s;
  std::optional<double> next_latency_s;
  std::optional<double> wait_share;
};

struct Analysis {
  double elapsed_s = 0;
  double root_elements = 0;
  std::size_t dumps = 0;
  Rate rate;
  Verdict verdict = Verdict::kUnknown;
  ConsumerAnalysis consumer;
  Trust trust;
  std::vector<Bound> bounds;  // ascending; the first is the bottleneck; empty without counters
  PerNode<NodeAnalysis> nodes;
  Memory memory;
  std::vector<BufferLevel> buffers;  // source first
  std::vector<Finding> findings;     // most gain first
  std::vector<std::string> warnings;
  Costs costs;       // what the optimiser works with
  Setting setting;   // the program as traced
  double cores = 1;  // of the traced machine, as far as known
};

struct AnalysisOptions {
  std::optional<double> think_time_s;  // --think-time; nullopt: as traced
  double processes = 1;                // equal ones on the host, each with all that is held
};

Analysis analyze(const Pipeline& pipeline, const AnalysisOptions& options);

}  // namespace plumber
