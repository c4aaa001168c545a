// SPDX-License-Identifier: Apache-2.0
// The counters that an analysis works on. Several dumps: what happened between the first dump and
// the last one, the time before the first being warm-up. One dump: totals since the start; elapsed
// time, CPU and root elements without those up to the first element, where the recorder noted it.
#pragma once

#include <optional>
#include <utility>

#include "pipeline/pipeline.h"

namespace plumber {

struct CounterWindow {
  double elapsed_s = 0;
  double process_cpu_s = 0;
  double root_elements = 0;
  double start_s = 0;        // dropped: until the first element; 0: unknown, or several dumps
  PerNode<Counters> steady;  // within the window; state (buffers) as of the last dump
  PerNode<Counters> total;   // since the start
  /// 95 % interval of the root's rate by batch means (Student's t over the intervals), if there are
  /// at least two intervals.
  std::optional<std::pair<double, double>> ci95_per_s;
};

enum class StartTime { kDropped, kKept };

/// All zero for a pipeline without dumps.
CounterWindow counter_window(const Pipeline& pipeline, StartTime start = StartTime::kDropped);

}  // namespace plumber
