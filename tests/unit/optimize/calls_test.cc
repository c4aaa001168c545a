// SPDX-License-Identifier: Apache-2.0
#include "optimize/calls.h"

#include <algorithm>
#include <set>

#include "catch2_any.h"
#include "optimize/choices.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

constexpr NodeId kRead{2}, kMap{3};

/// 256 records of `read_us` each, read by a parallel interleave, then a map of 1 ms.
SmallPipeline records(double read_us) {
  SmallPipeline p;
  const NodeId list = p.source("TensorSliceDataset", {.elements = 0.256});
  const NodeId reader =
      p.source("TFRecordDataset", {.work_ms = 0.256 * read_us, .elements = 256, .bytes = 1e5});
  const NodeId read = p.add("ParallelInterleaveDatasetV4", {list}, {.elements = 256});
  p.pipeline[reader].outer = read;
  p.pipeline[read].inner = {reader};
  p.pipeline[read].cycle_length = 8;
  p.pipeline[read].parallelism = kAutotune;
  const NodeId map =
      p.random(p.map(read, "_f", {.work_ms = 256, .calls = 256, .elements = 256, .bytes = 1e4}));
  p.finish(p.batch(map, 256, {.work_ms = 0.6}));
  return p;
}

Problem on_cores(const SmallPipeline& p, const OptimizeOptions& options) {
  return make_problem(p.pipeline, p.analysis, options, {options.limits.cores});
}

bool one_reader_is_a_choice(double read_us, double cores) {
  const SmallPipeline p = records(read_us);
  const OptimizeOptions options = within(cores, 64e9);
  const Choices choices = find_choices(on_cores(p, options), 64e9);
  return std::ranges::any_of(choices.nodes[kRead].modes, [](const ModeChoice& choice) {
    return choice.setting.mode == Mode::kDispatched;
  });
}

TEST_CASE("results in order: several times the calls that run, where calls differ as jpegs do") {
  SmallPipeline p = records(1);
  p.analysis.costs.nodes[kMap].work_s = p.analysis.costs.nodes[kMap].cpu_s = 256 * 10e-3;
  const auto calls = [&](double cores) {
    const OptimizeOptions options = within(cores, 64e9);
    const Problem problem = on_cores(p, options);
    Setting setting = problem.stock;
    setting[kMap] = {Mode::kParallel, 1000};
    return calls_wanted(problem, setting, kMap, 256 * 10e-3 / cores);
  };
  CHECK(calls(4) == 12);
  CHECK(calls(16) == 76);
  CHECK(calls(64) == 379);
}

/// Files of a far store, read by a map with two calls: 40 ms each, of which 0.4 ms on a core.
SmallPipeline far_files(const char* version) {
  SmallPipeline p;
  const NodeId names = p.source("TensorSliceDataset", {.elements = 8});
  const NodeId map =
      p.map(names, "_load", {.work_ms = 8 * 40, .calls = 8, .elements = 8, .bytes = 1e4});
  p.pipeline[map].function->facts.file_reads = {"ReadFile"};
  p.analysis.costs.nodes[map].cpu_s = 8 * 0.4e-3;
  p.pipeline.recorder.emplace().tensorflow_version = version;
  p.finish(p.batch(map, 8, {.work_ms = 0.1}));
  return p;
}

std::set<Mode> ways(const SmallPipeline& p, NodeId id) {
  const OptimizeOptions options = within(2, 64e9);
  std::set<Mode> modes;
  const Choices choices = find_choices(on_cores(p, options), 64e9);
  for (const ModeChoice& choice : choices.nodes[id].modes) modes.insert(choice.setting.mode);
  return modes;
}

TEST_CASE("calls that wait run on threads of their own, as many as keep the cores busy") {
  const SmallPipeline p = far_files("2.21.0");
  const NodeId map{1};
  CHECK(ways(p, map).contains(Mode::kParallelUnbounded));
  CHECK_FALSE(ways(far_files("2.17.1"), map).contains(Mode::kParallelUnbounded));
  const OptimizeOptions options = within(2, 64e9);
  CHECK(most_calls(on_cores(p, options))[map] == 64);

  CHECK(most_calls(make_problem(p.pipeline, p.analysis, within(1, 64e9), {1}))[map] == 64);

  SmallPipeline busy = p;
  busy.analysis.costs.nodes[map].cpu_s = 8 * 35e-3;
  CHECK_FALSE(ways(busy, map).contains(Mode::kParallelUnbounded));
  SmallPipeline near = p;  // a tenth of the time on a core: two cores are busy with 20 calls
  near.analysis.costs.nodes[map].cpu_s = 8 * 8e-3;
  CHECK(most_calls(on_cores(near, options))[map] > 10);
  CHECK(most_calls(on_cores(near, options))[map] < 64);
}

TEST_CASE("one reader on the thread that asks: where it has the time and handing over weighs") {
  // 256 ms of work: 16 ms a root element on 16 cores, of which a thread spends up to 12 on reading
  // and on beginning calls (8 us each); handing over is 7.7 ms of it all.
  CHECK(one_reader_is_a_choice(30, 16));
  CHECK_FALSE(one_reader_is_a_choice(45, 16));
  CHECK_FALSE(one_reader_is_a_choice(30, 32));
  // Less work than handing over is one only if there is time for it, too.
  CHECK(one_reader_is_a_choice(3, 64));
  CHECK_FALSE(one_reader_is_a_choice(10, 96));
  // On two cores, as measured: small elements only.
  CHECK(one_reader_is_a_choice(10, 2));
  CHECK_FALSE(one_reader_is_a_choice(30, 2));
}

TEST_CASE("readers that wait for their files stay beside each other") {
  SmallPipeline p = records(30);
  p.analysis.costs.nodes[NodeId{1}].cpu_s *= 0.3;
  const OptimizeOptions options = within(16, 64e9);
  const Choices choices = find_choices(on_cores(p, options), 64e9);
  for (const ModeChoice& choice : choices.nodes[kRead].modes)
    CHECK(choice.setting.mode == Mode::kParallel);
}

}  // namespace
}  // namespace plumber
