// SPDX-License-Identifier: Apache-2.0
// The simulator on queues whose answers are known.
#include <cmath>

#include "catch2_any.h"
#include "ops/hand_off.h"
#include "simulate.h"
#include "small_pipeline.h"
#include "streams.h"

namespace plumber::simulated {
namespace {

/// Rate of a pipeline under a setting, nothing lost between threads.
Measured rate(const SmallPipeline& p, const Setting& setting, const HostOptions& options) {
  const PerNode<int> buffers(p.pipeline.size(), 64);
  return simulate({&p.pipeline, &p.analysis.costs, setting, buffers}, options, {200, 4000});
}

SmallPipeline chain(double read_ms, double map_ms) {
  SmallPipeline p;
  p.without_hand_off();
  const NodeId files = p.source("TFRecordDataset", {.work_ms = read_ms});
  p.finish(p.map(files, "f", {.work_ms = map_ms, .calls = 1}));
  return p;
}

constexpr NodeId kFiles{0}, kMap{1};

TEST_CASE("one thread: one over the sum of the work, with think time") {
  SmallPipeline p = chain(2, 3);
  CHECK(rate(p, Setting(2), {8}).rate_per_s == Approx(200));
  p.analysis.costs.think_time_s = 5e-3;
  const Measured measured = rate(p, Setting(2), {8});
  CHECK(measured.rate_per_s == Approx(100));
  CHECK(measured.busy_cores == Approx(0.5));
}

TEST_CASE("a prefetch between two stages: the slower one") {
  const SmallPipeline p = chain(2, 3);
  Setting setting(2);
  setting[kFiles].prefetch_above = true;
  CHECK(rate(p, setting, {8}).rate_per_s == Approx(1000 / 3.0).epsilon(0.001));
  CHECK(rate(p, setting, {1}).rate_per_s == Approx(200).epsilon(0.01));
}

TEST_CASE("p calls beside each other: p over the work, until the cores are busy") {
  const SmallPipeline p = chain(0, 10);
  for (const double calls : {2.0, 7.0, 16.0, 40.0}) {
    Setting setting(2);
    setting[kMap] = {Mode::kParallel, calls};
    const double expected = std::min(calls, 16.0) * 100;
    CHECK(rate(p, setting, {16}).rate_per_s == Approx(expected).epsilon(0.01));
  }
}

TEST_CASE("calls of random length in order: as many as the oldest one lets through") {
  // Two calls of exponential length S: the first to end takes S / 2. Half the time that is the
  // older one, and a new call begins; else the older one takes S more, and both are done:
  // 3/2 results in S.
  const SmallPipeline p = chain(0, 10);
  Setting setting(2);
  setting[kMap] = {Mode::kParallel, 2};
  HostOptions options{64};
  options.spread = Spread::kExponential;
  CHECK(rate(p, setting, options).rate_per_s == Approx(100 * 3 / 2.0).epsilon(0.03));
}

TEST_CASE("calls of random length in any order: all of them run") {
  SmallPipeline p = chain(0, 10);
  p.pipeline[kMap].deterministic = false;
  Setting setting(2);
  setting[kMap] = {Mode::kParallel, 2};
  HostOptions options{64};
  options.spread = Spread::kExponential;
  CHECK(rate(p, setting, options).rate_per_s == Approx(200).epsilon(0.03));
}

TEST_CASE("two stages of random length with a buffer: Gordon and Newell") {
  // A closed queue of two exponential servers and n elements between them: utilisation n / (n + 1)
  // where both are equally fast. n counts the buffer, and one that each side works on.
  const SmallPipeline p = chain(10, 10);
  Setting setting(2);
  setting[kFiles].prefetch_above = true;
  HostOptions options{8};
  options.spread = Spread::kExponential;
  const PerNode<int> buffers(2, 3);
  const Program program{&p.pipeline, &p.analysis.costs, setting, buffers};
  const double served = simulate(program, options, {500, 40000}).rate_per_s;
  CHECK(served == Approx(100 * 4 / 5.0).epsilon(0.02));
}

TEST_CASE("readers share a disk, and Python its lock") {
  SmallPipeline p = chain(0, 0);
  p.analysis.costs.nodes[kFiles].disk_bytes = 1e6;
  HostOptions options{8};
  options.disks = {{"", flat_disk(50e6)}};
  CHECK(rate(p, Setting(2), options).rate_per_s == Approx(50));

  SmallPipeline python = chain(0, 5);
  python.analysis.costs.nodes[kMap].python = true;
  Setting setting(2);
  setting[kMap] = {Mode::kParallel, 8};
  CHECK(rate(python, setting, {8}).rate_per_s == Approx(200).epsilon(0.01));
}

TEST_CASE("an interleave's readers: as many as calls and open files") {
  SmallPipeline p;
  p.without_hand_off();
  const NodeId files = p.source("TensorSliceDataset", {.elements = 0.01});
  const NodeId reader = p.source("TFRecordDataset", {.work_ms = 10});
  const NodeId read = p.add("ParallelInterleaveDatasetV4", {files}, {});
  p.pipeline[read].inner = {reader};
  p.pipeline[reader].outer = read;
  p.pipeline[read].cycle_length = 8;
  p.finish(read);
  for (const double calls : {1.0, 3.0, 8.0, 12.0}) {
    Setting setting(3);
    setting[read] = {Mode::kParallel, calls};
    CHECK(rate(p, setting, {16}).rate_per_s == Approx(std::min(8.0, calls) * 100).epsilon(0.03));
  }
}

TEST_CASE("an interleave opens files ahead, so that its reader goes on") {
  // A file takes 10 ms to open and has 10 elements of 1 ms. TensorFlow 2.21, 40 files whose first
  // element sleeps 0.1 s on a pool of two threads: 2.1 s with one, two or four calls, so that other
  // threads than the readers wait; 4.2 s without parallel calls.
  SmallPipeline p;
  p.without_hand_off();
  const NodeId files = p.source("TensorSliceDataset", {.elements = 0.1});
  const NodeId list =
      p.source("TensorSliceDataset", {.work_ms = 1, .elements = 0.1});  // 10 ms a file
  const NodeId reader = p.source("TFRecordDataset", {.work_ms = 1});
  const NodeId flat = p.add("FlatMapDataset", {list}, {.calls = 0.1});
  const NodeId read = p.add("ParallelInterleaveDatasetV4", {files}, {});
  p.pipeline[flat].inner = {reader};
  p.pipeline[read].inner = {flat};
  for (const NodeId inner : {list, reader, flat}) p.pipeline[inner].outer = read;
  p.pipeline[read].cycle_length = 4;
  p.finish(read);
  Setting setting(5);
  setting[read] = {Mode::kParallel, 1};
  CHECK(rate(p, setting, {16}).rate_per_s == Approx(1000).epsilon(0.4));
  p.pipeline[read].prefetched_inputs = 0;
  CHECK(rate(p, setting, {16}).rate_per_s == Approx(500).epsilon(0.02));
}

TEST_CASE("a dispatched call costs its latency, and its CPU beside it") {
  SmallPipeline p = chain(0, 1);
  p.analysis.costs.hand_off_known = true;
  p.analysis.costs.hand_off = HandOff{};
  Setting setting(2);
  setting[kMap].mode = Mode::kDispatched;
  const Measured dispatched = rate(p, setting, {2});
  CHECK(dispatched.rate_per_s == Approx(1 / (1e-3 + 90e-6)).epsilon(0.001));
  CHECK(dispatched.busy_cores == Approx((1e-3 + 95e-6) / (1e-3 + 90e-6)).epsilon(0.001));
  setting[kMap].mode = Mode::kInline;
  CHECK(rate(p, setting, {2}).rate_per_s == Approx(1000));
}

TEST_CASE("of the pool's threads that find no call one spins at a time") {
  // Calls of 1 ms come every 0.1 ms on 64 cores: ten run, and each finds a thread asleep. All of
  // them spinning would be 0.6 ms for each call and six cores busy; one thread is one core.
  SmallPipeline p = chain(0.1, 1);
  p.analysis.costs.hand_off_known = true;
  HandOff h = no_hand_off();
  h.wp = h.wp_inline = 1e-9;
  h.hp = h.hp_inline = 1e-3;
  h.scale_h = 1;
  p.analysis.costs.hand_off = h;
  Setting setting(2);
  setting[kMap] = {Mode::kParallel, 64};
  const Measured measured = rate(p, setting, {64});
  CHECK(measured.rate_per_s == Approx(10000).epsilon(0.01));
  const double waking = 4, working = 10, reading = 1, spinning = 1;
  CHECK(measured.busy_cores == Approx(waking + working + reading + spinning).epsilon(0.03));
}

}  // namespace
}  // namespace plumber::simulated
