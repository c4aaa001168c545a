// SPDX-License-Identifier: Apache-2.0
// Analysis + limits -> plan (design §4): the best use of cores, memory and disk, with reasons.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/analysis.h"
#include "optimize/resource_prices.h"
#include "pipeline/plan.h"

namespace plumber {

struct Limits {
  double cores = 1;
  double memory_bytes = 0;
  std::vector<Disk> disks;                // none: reading is never the limit
  std::optional<DiskCache> disk_cache{};  // --disk-cache: where caches may be files
  bool cores_from_trace = false;
  bool memory_from_trace = false;
  double processes = 1;  // equal ones on the host; all above is the share of one (host_share.h)
};

enum class Permission {
  kFrozenOrder,
  kPyfuncCache,
  kUnfreeze,
  kReshuffle,
  kStatefulParallel,
  kNondeterministic,
  kIntraOp,  // the training job's environment may set TF_NUM_INTRAOP_THREADS=1
  kReorderFiles,
};
std::string permission_word(Permission permission);  // "frozen-order", ...
std::optional<Permission> permission_of(const std::string& word);
std::vector<std::string> permission_words();  // all of them

/// Kinds of edits that a plan can do without (--without): all that change how the program runs. The
/// rest keeps the elements, or the memory budget.
std::vector<EditKind> optional_edits();

enum class ModelKind { kDefault, kPaper };

struct OptimizeOptions {
  Limits limits;
  ModelKind model = ModelKind::kDefault;
  bool allow_cache = true;           // --no-cache
  bool allow_moves = true;           // --no-moves
  bool strict_order = false;         // --strict-order
  bool keep_autotune = false;        // --keep-autotune
  std::set<Permission> permissions;  // --allow
  std::set<EditKind> left_out;       // --without, of optional_edits()
  std::optional<double> epochs;      // --epochs; nullopt: steady state
  std::optional<double> target_rate_per_s;
  std::optional<ResourcePrices> prices;  // --prices: the target by the least money, not cores
};

enum class PlanStatus { kOptimal, kNoChange, kInfeasible };

/// What a plan's rate becomes if the work of one node is not as traced.
struct Sensitivity {
  double error = 0;  // of the work, either way
  double low_per_s = 0;
  double high_per_s = 0;
  std::string node;  // the one that the low end is about; empty: none matters
};

struct Predicted {
  std::optional<double> as_traced_per_s;
  double before_per_s = 0;                  // stock TensorFlow, default options
  std::optional<double> first_epoch_per_s;  // nullopt: what fills a cache did not run
  double after_per_s = 0;
  std::pair<double, double> range_per_s{0, 0};
  bool upper_bound = false;
  bool lower_bound = false;
  std::string why;          // why a range or a bound, or what the number rests on
  double speedup = 1;       // after / before
  double cached_share = 0;  // of an epoch, by a partial cache; the bound is that of the rest
  std::optional<double> cache_pays_after_epochs;
  std::optional<Bound> bound;
  std::optional<Sensitivity> sensitivity;
};

struct Theta {
  NodeId node{};
  double cores = 0;
};

struct LpResult {
  double objective_per_s = 0;
  std::vector<Theta> theta;          // source first
  std::vector<std::string> binding;  // "cores" or node names
  std::string program;               // CPLEX LP text, for --lp
};

struct NextMemory {
  double bytes = 0;
  double gain_per_s = 0;
};

struct MoreResources {
  double core_gain_per_s = 0;
  std::optional<NextMemory> next_memory;
  std::optional<double> disk_gain_per_s;
  // With a target: the fewest cores on which stock TensorFlow reaches it; nullopt: not within the
  // limits, or there is no target.
  std::optional<double> unchanged_cores;
};

/// The cheapest cores, memory and disk that reach the target; dollars an hour.
struct Provision {
  double cores = 0;
  double memory_bytes = 0;
  std::string disk;                        // its name in the list of prices; "": by the rate
  std::optional<double> disk_bytes_per_s;  // nullopt: no disk was priced
  double cores_usd = 0, memory_usd = 0, disk_usd = 0;
  double usd_per_hour() const { return cores_usd + memory_usd + disk_usd; }
};

struct Rejected {
  std::string edit;
  std::string node;
  std::string reason;
  bool operator==(const Rejected&) const = default;
};

struct PlannedMemory {
  double budget_bytes = 0;
  double stock_bytes = 0;  // what the program holds as stock TensorFlow runs it
  double planned_bytes = 0;
  std::vector<MemoryItem> items;
};

/// Caches on disk.
struct PlannedDisk {
  double room_bytes = 0;
  double planned_bytes = 0;
  std::vector<MemoryItem> items;
};

struct OptimizeResult {
  ModelKind model = ModelKind::kDefault;
  PlanStatus status = PlanStatus::kNoChange;
  Limits limits;
  std::vector<std::string> permissions;
  Predicted predicted;
  LpResult lp;
  MoreResources more;
  std::optional<Provision> provision;  // with prices and a target that can be reached
  Plan plan;
  std::vector<Rejected> rejected;
  PlannedMemory memory;
  PlannedDisk disk;
  std::vector<std::string> warnings;
};

/// Solves for the plan. Never throws for an infeasible target: that is a status.
OptimizeResult optimize(const Pipeline& pipeline, const Analysis& analysis,
                        const OptimizeOptions& options);

}  // namespace plumber
