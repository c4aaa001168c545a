// SPDX-License-Identifier: Apache-2.0
// What a plan says in sentences.
#include <fmt/format.h>

#include "report/cluster_view.h"
#include "report/sections.h"

namespace plumber {
namespace {

std::string name_of(const ClusterPlan& plan, const Outcome& one) {
  const std::string machine = plan.machines[one.at.machine].label();
  return fmt::format("{:.6g} worker{}{}, batch {:.6g}", one.at.workers,
                     one.at.workers == 1 ? "" : "s", machine.empty() ? "" : " on " + machine,
                     one.at.global_batch);
}

std::string configurations_text(std::size_t count) {
  return count == 1 ? "1 configuration" : fmt::format("{} configurations", count);
}

std::string objective_phrase(ClusterObjective objective) {
  switch (objective) {
    case ClusterObjective::kTime:
      return "the fastest";
    case ClusterObjective::kCost:
      return "the cheapest";
    case ClusterObjective::kKnee:
      return "the knee of cost against time";
    case ClusterObjective::kCostTime:
      return "the least cost times time";
  }
  return "";
}

void add_knee_sentence(Prose& prose, const ClusterPlan& plan) {
  if (!plan.knee || plan.objective != ClusterObjective::kKnee || plan.knee->why.empty()) return;
  prose.sentences.push_back(
      {plan.knee->method == "maximum-distance"
           ? "Kneedle finds no knee ({}): this is the point farthest from the line between the "
             "front's ends."
           : "There is no knee to find ({}): this is the fastest.",
       {{Unit::kNone, plan.knee->why}}});
}

void add_robustness_sentence(Prose& prose, const ClusterPlan& plan) {
  if (!plan.robustness || plan.robustness->replicates == 0) return;
  const Robustness& robust = *plan.robustness;
  if (plan.choice->at_most() || (robust.winners.empty() && !plan.some_at_most())) return;
  Sentence sentence{
      "Within the runs' scatter: {}, {}; ",
      {{Unit::kNone, hours_text(robust.hours.first) + " to " + hours_text(robust.hours.second)},
       {Unit::kNone,
        dollars_text(robust.cost_usd.first) + " to " + dollars_text(robust.cost_usd.second)}}};
  if (plan.some_at_most()) {
    sentence.pattern +=
        "other configurations are known as upper bounds only, so that one of them may be better.";
    prose.sentences.push_back(sentence);
    return;
  }
  sentence +=
      {"{} wins in {} of {} draws.",
       {{Unit::kNone, fmt::format("{:.6g} worker{} with batch {:.6g}", robust.winners[0].at.workers,
                                  robust.winners[0].at.workers == 1 ? "" : "s",
                                  robust.winners[0].at.global_batch)},
        {Unit::kShare, robust.winners[0].share},
        {Unit::kCount, static_cast<double>(robust.replicates)}}};
  prose.sentences.push_back(sentence);
}

void add_job_sentences(Prose& prose, const ClusterPlan& plan) {
  if (!plan.target.empty())
    prose.sentences.push_back({"Trained to {}.", {{Unit::kNone, plan.target}}});
  if (plan.learning_rate_rule.empty()) return;
  prose.sentences.push_back(
      {"Learning rate scaled with the batch: {}.", {{Unit::kNone, plan.learning_rate_rule}}});
}

// What would have to give for each limit, where the limits are all that is in the way.
void add_nearest_sentences(Prose& prose, const ClusterPlan& plan) {
  for (const NearestMiss& one : plan.nearest) {
    const char* what = one.limit == "max_cost_usd" ? "cheapest"
                       : one.limit == "max_hours"  ? "fastest"
                                                   : "least by the hour";
    const Outcome& outcome = one.outcome;
    prose.sentences.push_back(
        {"The {} that there is: {}, {} for {}, {} an hour.",
         {{Unit::kNone, std::string(what)},
          {Unit::kNone, name_of(plan, outcome)},
          {Unit::kNone, (outcome.at_most() ? "at most " : "") + hours_text(outcome.hours)},
          {Unit::kNone, dollars_text(outcome.cost_usd)},
          {Unit::kNone, dollars_text(outcome.usd_per_hour)}}});
  }
}

Prose why_not_possible(const ClusterPlan& plan) {
  const auto all = static_cast<double>(plan.rejected.size());
  const auto over = static_cast<double>(plan.over_limit);
  Prose prose;
  if (over == all) {
    prose.sentences.push_back(
        {"Not possible: all {} configurations break a constraint.", {{Unit::kCount, all}}});
  } else if (over == 0) {
    prose.sentences.push_back(
        {"Not possible: of {} none is within what the runs, the job and the machines allow.",
         {{Unit::kNone, configurations_text(plan.rejected.size())}}});
  } else {
    prose.sentences.push_back(
        {"Not possible: of {} configurations {} break a constraint, and the others are not within "
         "what the runs, the job and the machines allow.",
         {{Unit::kCount, all}, {Unit::kCount, over}}});
  }
  add_nearest_sentences(prose, plan);
  return prose;
}

}  // namespace

Prose cluster_plan_prose(const ClusterPlan& plan) {
  if (!plan.choice) return why_not_possible(plan);
  const Outcome& choice = *plan.choice;
  Prose prose{{{choice.at_most() ? "{}: at most {} for {}, {} of {}." : "{}: {} for {}, {} of {}.",
                {{Unit::kNone, name_of(plan, choice)},
                 {Unit::kNone, hours_text(choice.hours)},
                 {Unit::kNone, dollars_text(choice.cost_usd)},
                 {Unit::kNone, objective_phrase(plan.objective)},
                 {Unit::kNone, configurations_text(plan.candidates.size())}}},
               {"{} epochs, {} iterations of {}; {} limits it.",
                {{Unit::kNone, choice.epochs},
                 {Unit::kCount, choice.iterations},
                 {Unit::kSeconds, choice.iteration_s},
                 {Unit::kNone, limit_word(choice.limit)}}}}};
  add_job_sentences(prose, plan);
  if (choice.accumulation > 0) {
    prose.sentences.push_back(
        {"A worker's batch does not fit: it takes {} passes, whose gradients "
         "are added up.",
         {{Unit::kNone, fmt::format("{}", choice.accumulation + 1)}}});
  }
  add_knee_sentence(prose, plan);
  add_robustness_sentence(prose, plan);
  return prose;
}

}  // namespace plumber
