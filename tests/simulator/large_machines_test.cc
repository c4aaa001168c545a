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
constexpr int kMany = 10000;

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
