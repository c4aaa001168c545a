// SPDX-License-Identifier: Apache-2.0
// Plans for machines of 16 to 96 cores against random ones, on the simulator.
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "catch2_any.h"
#include "contest.h"
#include "pipeline/pipeline.h"
#include "random_pipelines.h"
#include "trace/read.h"

namespace plumber::simulated {
namespace {

constexpr double kUsable = 0.92;
constexpr double kWake_s = 30e-6;

struct Subject {
  std::string name;
  Pipeline pipeline;
  Analysis analysis;
};

Subject traced(const std::string& name) {
  Subject subject{
      name,
      build_pipeline(read_trace({std::string(PLUMBER_TESTDATA_DIR) + "/traces/" + name + ".pb"})),
      {}};
  subject.analysis = analyze(subject.pipeline, {});
  return subject;
}

Subject made(const std::string& name, const SmallPipeline& p) {
  return {name, p.pipeline, p.analysis};
}

NodeId records(SmallPipeline& p, double per_root, double work_ms, std::int64_t cycle) {
  const double files = per_root / 1000;
  const NodeId list = p.source("TensorSliceDataset", {.elements = files});
  const NodeId reader =
      p.source("TFRecordDataset", {.work_ms = work_ms, .elements = per_root, .bytes = 1e5});
  const NodeId read =
      p.add("ParallelInterleaveDatasetV4", {list}, {.elements = per_root, .bytes = 1e5});
  p.pipeline[reader].outer = read;
  p.pipeline[read].inner = {reader};
  p.pipeline[read].cycle_length = cycle;
  p.pipeline[read].parallelism = kAutotune;
  return read;
}

SmallPipeline jpeg() {
  SmallPipeline p;
  const NodeId read = records(p, 128, 128 * 0.15, 16);
  const NodeId decode = p.random(
      p.map(read, "_decode", {.work_ms = 128 * 9, .calls = 128, .elements = 128, .bytes = 6e5}));
  p.finish(p.batch(decode, 128, {.work_ms = 20, .bytes = 7.7e7}));
  return p;
}

SmallPipeline filtered() {
  SmallPipeline p;
  const NodeId read = records(p, 256, 256 * 0.02, 8);
  const NodeId parse =
      p.map(read, "_parse", {.work_ms = 256 * 0.3, .calls = 256, .elements = 256, .bytes = 1e4});
  const NodeId keep =
      p.with_function(p.add("FilterDataset", {parse},
                            {.work_ms = 256 * 0.05, .calls = 256, .elements = 64, .bytes = 1e4}),
                      "_keep");
  const NodeId augment = p.random(
      p.map(keep, "_augment", {.work_ms = 64 * 2, .calls = 64, .elements = 64, .bytes = 2e4}));
  p.finish(p.batch(augment, 64, {.work_ms = 0.6, .bytes = 1.3e6}));
  return p;
}

void show(const Subject& subject, double cores, const ContestOptions& given) {
  OptimizeOptions options = within(cores, 64e9);
  options.allow_cache = false;
  options.allow_moves = false;
  const Problem problem = make_problem(subject.pipeline, subject.analysis, options, {cores});
  const BestPlan plan = best_plan(problem);
  ContestOptions contest_options = given;
  contest_options.host.cores = cores;
  contest_options.host.usable = subject.analysis.costs.hand_off_known ? kUsable : 1;
  contest_options.host.wake_s = subject.analysis.costs.hand_off_known ? kWake_s : 0;
  const Outcome o = simulated::contest(problem, plan.settled, contest_options);
  std::cout << fmt::format(
      "{:28} {:3} predicted {:9.1f} plan {:9.1f} busy {:5.1f} best {:9.1f} ratio {:.3f}\n",
      subject.name, cores, o.predicted_per_s, o.plan_per_s, o.busy_cores, o.best_per_s, o.ratio());
  if (o.ratio() > 1.02) {
    std::cout << "   plan" << o.plan << "\n   best (" << o.best_predicted_per_s << ")" << o.best
              << "\n";
    for (const Bound& bound : evaluate(problem, plan.settled).bounds)
      std::cout << "      bound " << static_cast<int>(bound.kind) << " "
                << subject
                       .pipeline[bound.nodes.empty() ? subject.pipeline.root : bound.nodes.front()]
                       .name
                << " " << bound.bound_per_s << "\n";
  }
  std::cout << std::flush;
}

}  // namespace

TEST_CASE("explore", "[.explore]") {
  ContestOptions options;
  if (const char* plans = std::getenv("PLANS")) options.plans = std::atoi(plans);
  const char* spread = std::getenv("SPREAD");
  options.host.spread =
      spread == nullptr ? Spread::kLogNormal : static_cast<Spread>(std::atoi(spread));
  std::vector<Subject> subjects;
  for (const char* name : {"imagenet_train", "imagenet_eval", "csv_table", "zip_fixed", "bert_gzip",
                           "python_function", "cached_then_random"})
    subjects.push_back(traced(name));
  subjects.push_back(made("jpeg", jpeg()));
  subjects.push_back(made("filtered", filtered()));
  const char* only = std::getenv("ONLY");
  for (const Subject& subject : subjects)
    if (only == nullptr || subject.name == only)
      for (const double cores : {16.0, 32.0, 64.0, 96.0}) show(subject, cores, options);
}

}  // namespace plumber::simulated
