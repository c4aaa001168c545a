// SPDX-License-Identifier: Apache-2.0
// Plans for machines of 16 to 96 cores against random ones, on the simulator.
#include <fmt/format.h>

#include <atomic>
#include <future>
#include <iostream>
#include <thread>

#include "catch2_any.h"
#include "contest.h"
#include "pipeline/pipeline.h"
#include "small_pipeline.h"
#include "trace/read.h"

namespace plumber::simulated {
namespace {

// Measured on two cores: the share of them that threads get, and waking one.
constexpr double kUsable = 0.92;
constexpr double kWake_s = 30e-6;
constexpr int kMany = 10000;

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

struct Round {
  Subject subject;
  double cores = 0;
  bool caches = false;
};

struct Judged {
  Outcome outcome;
  double given_away = 1;  // the fastest plan by the model over the plan, which has fewer edits
};

Judged judge(const Round& round, int plans) {
  OptimizeOptions options = within(round.cores, 64e9);
  options.allow_cache = round.caches;
  options.allow_moves = false;
  const Subject& subject = round.subject;
  const Problem problem =
      make_problem(subject.pipeline, subject.analysis, options, machine_of(options.limits));
  const BestPlan plan = best_plan(problem);
  ContestOptions contest_options;
  contest_options.plans = plans;
  contest_options.host.cores = round.cores;
  contest_options.host.spread = Spread::kLogNormal;
  if (subject.analysis.costs.hand_off_known) {
    contest_options.host.usable = kUsable;
    contest_options.host.wake_s = kWake_s;
  }
  return {contest(problem, plan.settled, contest_options),
          plan.found.best.period_s / plan.found.fastest_period_s};
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const char* name : {"imagenet_train", "imagenet_eval", "text_tokenize", "csv_table",
                           "zip_fixed", "bert_gzip", "cached_then_random"})
    all.push_back(traced(name));
  all.push_back(made("jpeg", jpeg()));
  all.push_back(made("filtered", filtered()));
  return all;
}

/// Where a plan is beaten by more, and why.
double most_beaten(const Round& round) {
  // One reader, as written: while it opens a file nothing comes, which is no bound of the cost
  // model, so that a second reader is an edit without a gain.
  if (round.subject.name == "bert_gzip") return 1.09;
  // Reading on the caller's thread is not offered: a hand-over an element.
  if (round.subject.name == "imagenet_train" && round.cores < 32) return 1.025;
  // Two changes are not offered that bring 1 % each: readers of 20 us of work as one thread, and
  // bodies of 0.3 ms inline in parallel calls.
  if (round.subject.name == "filtered" && round.cores < 32) return 1.04;
  return 1.02;
}

void compare(const Round& round, const Judged& judged, bool print) {
  const Outcome& o = judged.outcome;
  const std::string line =
      fmt::format("| {}{} | {} | {:.4g} | {:.4g} | {:+.0f} % | {:.4g} | {:.3f} | {:.1f} |",
                  round.subject.name, round.caches ? ", caches" : "", round.cores, o.plan_per_s,
                  o.predicted_per_s, 100 * (o.predicted_per_s / o.plan_per_s - 1),
                  std::max(o.plan_per_s, o.best_per_s), std::max(1.0, o.ratio()), o.busy_cores);
  if (print) std::cout << line << std::endl;
  INFO(line << "\nplan" << o.plan << "\nbest" << o.best);
  CHECK(o.plan_per_s > 0);
  CHECK(o.ratio() <= most_beaten(round) * judged.given_away);
}

/// On all cores: each round is for itself.
std::vector<Judged> judge_all(const std::vector<Round>& rounds, int plans) {
  std::vector<Judged> judged(rounds.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < rounds.size(); i = next++) judged[i] = judge(rounds[i], plans);
  };
  std::vector<std::future<void>> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    workers.push_back(std::async(std::launch::async, work));
  for (std::future<void>& worker : workers) worker.get();
  return judged;
}

void compare_all(int plans) {
  const std::vector<Subject> all = subjects();
  std::vector<Round> rounds;
  for (const double cores : {16.0, 32.0, 64.0, 96.0}) {
    for (const Subject& subject : all) rounds.push_back({subject, cores});
  }
  rounds.push_back({all[1], 64, true});
  const std::vector<Judged> judged = judge_all(rounds, plans);
  for (std::size_t i = 0; i < rounds.size(); ++i) compare(rounds[i], judged[i], plans >= kMany);
}

}  // namespace

TEST_CASE("16 to 96 cores: 10,000 random plans, and none is much faster") { compare_all(270); }

TEST_CASE("16 to 96 cores: 10,000 random plans each", "[.long]") { compare_all(kMany); }

}  // namespace plumber::simulated
