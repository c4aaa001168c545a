// SPDX-License-Identifier: Apache-2.0
// What is wrong with the program or could be better, beyond its bottleneck: each finding with the
// numbers of the trace behind it, the gain where the cost model can tell it, and the Python to
// change.
//
//   augmentation-frozen      a cache keeps random values of its first epoch
//   order-frozen             a cache keeps a shuffled order, and nothing shuffles above it
//   cache-discarded          a cache that is not read to its end in each epoch is thrown away
//   cache-of-names           a cache of file names saves nothing
//   cache-producers-gone     the trace began after a cache or snapshot was full: no costs below it
//   cache-larger-than-files  a cache in files of elements that grew since they were read
//   shuffle-whole-epoch      a shuffle holds a whole epoch
//   shuffle-after-growth     a shuffle of elements that were smaller further down
//   prefetch-large           a prefetch holds a large part of the memory
//   large-constants          the program itself holds data
//   batch-of-batch, unbatch-of-batch, legacy-op, nested-parallel-reads      seldom meant
//   late-choice              a shard or skip throws away what costly maps below it made
//   group-over-repeat        groups of an endless input
//   order-kept               elements that are done wait for a slower one before them
//   one-file                 readers in parallel, and one file
//   page-cache               files that fit into memory, or are read in each epoch
//   many-calls               far more calls in flight than cores
//   short-epochs             starting the next epoch takes much of the time
//   sequential-op            a sequential op binds, and parallel calls would help
//   few-calls                a parallel op binds with fewer calls in flight than there are cores
//   cores-busy               all cores are busy: only less work or more cores help
//   python-lock              Python functions share one lock
//   per-element-overhead     handing calls to threads takes most of the time: batch first
//   latency-bound-source     a reader waits rather than reads
//   prefetch-missing         the pipeline waits while the consumer works
#pragma once

#include <vector>

#include "ops/analysis.h"
#include "pipeline/pipeline.h"

namespace plumber {

/// Most gain first, then the gravest, then in the order of the table (rules.h). Reads everything of
/// the analysis but its findings.
std::vector<Finding> findings(const Pipeline& pipeline, const Analysis& analysis);

}  // namespace plumber
