// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "report/cluster_view.h"
#include "report/sections.h"

namespace plumber {
namespace {

// Upper bounds are marked in tables.
std::string time_cell(const Outcome& one) {
  return (one.at_most() ? "<= " : "") + hours_text(one.hours);
}

std::string cost_cell(const Outcome& one) {
  return (one.at_most() ? "<= " : "") + dollars_text(one.cost_usd);
}

std::vector<Field> candidate_fields(const ClusterPlan& plan, const Outcome& one) {
  return {key_value("workers", one.at.workers),
          key_value("global_batch", one.at.global_batch),
          key_value("machine", plan.machines[one.at.machine].label()),
          key_value("nodes", one.nodes),
          key_value("epochs", one.epochs),
          key_value("iterations", one.iterations),
          key_value("iteration_s", one.iteration_s),
          key_value("compute_s", one.time.compute_s),
          key_value("sync_s", one.time.sync_s),
          key_value("input_s", value_of(one.input_s)),
          key_value("limit", limit_word(one.limit)),
          key_value("hours", one.hours),
          key_value("cost_usd", one.cost_usd),
          key_value("usd_per_hour", one.usd_per_hour),
          key_value("memory_bytes", value_of(one.memory_bytes)),
          key_value("accumulation", one.accumulation),
          key_value("at_most", one.at_most())};
}

// Numbers for programs; the last three columns are for people.
Table candidate_table(const ClusterPlan& plan, const std::vector<Outcome>& candidates) {
  Table table;
  for (const Field& field : candidate_fields(plan, Outcome{})) {
    table.columns.push_back({field.key, "", Unit::kNone});
  }
  table.columns[0].title = "workers";
  if (plan.machines.size() > 1) table.columns[2].title = "machine";
  table.columns[4].title = "epochs";
  table.columns[6] = {"iteration_s", "iteration", Unit::kSeconds};
  const bool with_input = !candidates.empty() && candidates[0].input_s;
  table.columns[9] = {"input_s", with_input ? "input" : "", Unit::kSeconds};
  table.columns[10].title = "limit";
  const bool accumulates = std::any_of(candidates.begin(), candidates.end(),
                                       [](const Outcome& one) { return one.accumulation > 0; });
  if (accumulates) table.columns[15].title = "extra passes";
  table.columns.insert(table.columns.begin() + 1, {"", "batch", Unit::kCount});
  table.columns.push_back({"", "time"});
  table.columns.push_back({"", "cost"});
  for (const Outcome& one : candidates) {
    ReportRow row;
    for (const Field& field : candidate_fields(plan, one)) row.cells.push_back(field.value);
    row.cells.insert(row.cells.begin() + 1, Value(whole(one.at.global_batch)));
    row.cells.emplace_back(time_cell(one));
    row.cells.emplace_back(cost_cell(one));
    row.highlighted = plan.choice && one.at == plan.choice->at;
    table.rows.push_back(std::move(row));
  }
  return table;
}

Section range_section(const ClusterPlan& plan) {
  if (!plan.robustness || plan.choice->at_most()) return json_field("range", {});
  const Robustness& robust = *plan.robustness;
  return {"range", "",
          Fields{{key_value("hours", pair_value(robust.hours)),
                  key_value("cost_usd", pair_value(robust.cost_usd)),
                  key_value("epochs", pair_value(robust.epochs)),
                  key_value("iteration_s", pair_value(robust.iteration_s))}}};
}

void add_robustness(Report& report, const ClusterPlan& plan) {
  if (!plan.robustness) {
    report.sections.push_back(json_field("robustness", {}));
    return;
  }
  Table table;
  table.columns = {{"workers", ""}, {"global_batch", ""}, {"machine", ""}, {"share", ""}};
  for (const WinShare& one : plan.robustness->winners) {
    table.rows.push_back(
        {{one.at.workers, one.at.global_batch, plan.machines[one.at.machine].label(), one.share},
         false});
  }
  const double replicates = plan.robustness->replicates;
  report.sections.push_back({"robustness", "", Fields{{key_value("replicates", replicates)}}});
  report.sections.push_back({"robustness.winners", "", table});
}

Section knee_section(const ClusterPlan& plan) {
  if (!plan.knee) return json_field("knee", {});
  const Outcome& at = plan.pareto[plan.knee->index];
  return {
      "knee", "",
      Fields{{key_value("workers", at.at.workers), key_value("global_batch", at.at.global_batch),
              key_value("machine", plan.machines[at.at.machine].label()),
              key_value("hours", at.hours), key_value("cost_usd", at.cost_usd),
              key_value("method", plan.knee->method), key_value("why", plan.knee->why)}}};
}

Section policies_section(const ClusterPlan& plan) {
  Table table;
  table.columns = {{"policy", "without a model"},
                   {"workers", "workers"},
                   {"global_batch", ""},
                   {"hours", ""},
                   {"cost_usd", ""},
                   {"", "batch"},
                   {"", "time"},
                   {"", "cost"}};
  for (const Policy& one : plan.policies) {
    ReportRow row{{one.name, {}, {}, {}, {}, {}, {}, {}}, false};
    if (one.outcome) {
      const Outcome& outcome = *one.outcome;
      row.cells = {one.name,           outcome.at.workers, outcome.at.global_batch,
                   outcome.hours,      outcome.cost_usd,   whole(outcome.at.global_batch),
                   time_cell(outcome), cost_cell(outcome)};
    }
    table.rows.push_back(row);
  }
  const bool some = std::any_of(plan.policies.begin(), plan.policies.end(),
                                [](const Policy& one) { return one.outcome.has_value(); });
  return {"policies", some ? "Reference policies" : "", table};
}

Section rejected_section(const ClusterPlan& plan) {
  Table table;
  table.columns = {{"workers", "workers"},
                   {"global_batch", ""},
                   {"", "batch"},
                   {"machine", ""},
                   {"reason", "why", Unit::kNone, true}};
  if (plan.machines.size() > 1) table.columns[3].title = "machine";
  table.shown = 5;
  for (const RejectedConfiguration& one : plan.rejected) {
    table.rows.push_back({{one.at.workers, one.at.global_batch, whole(one.at.global_batch),
                           plan.machines[one.at.machine].label(), one.reason},
                          false});
  }
  return {"rejected", "Rejected", table};
}

// JSON alone: the headline has it for people.
Section nearest_section(const ClusterPlan& plan) {
  Table table;
  for (const char* key :
       {"limit", "workers", "global_batch", "machine", "hours", "cost_usd", "usd_per_hour"}) {
    table.columns.push_back({key, ""});
  }
  if (plan.choice) return {"nearest", "", table};
  for (const NearestMiss& one : plan.nearest) {
    const Outcome& outcome = one.outcome;
    table.rows.push_back({{one.limit, outcome.at.workers, outcome.at.global_batch,
                           plan.machines[outcome.at.machine].label(), outcome.hours,
                           outcome.cost_usd, outcome.usd_per_hour},
                          false});
  }
  return {"nearest", "", table};
}

bool is_among(const std::vector<Outcome>& outcomes, const Configuration& at) {
  return std::any_of(outcomes.begin(), outcomes.end(),
                     [&](const Outcome& one) { return one.at == at; });
}

// With what each configuration is: the curve of cost against time and its front.
Section candidates_section(const ClusterPlan& plan) {
  Table table = candidate_table(plan, plan.candidates);
  table.columns.push_back({"is_pareto", ""});
  table.columns.push_back({"is_choice", ""});
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    const Configuration& at = plan.candidates[i].at;
    table.rows[i].cells.emplace_back(is_among(plan.pareto, at));
    table.rows[i].cells.emplace_back(plan.choice && at == plan.choice->at);
  }
  return {"candidates", "", table};
}

Section spot_section(const ClusterPlan& plan) {
  if (!plan.spot.used) return json_field("spot", {});
  return {"spot", "",
          Fields{{key_value("interruptions_per_machine_hour", plan.spot.interruptions_per_hour),
                  key_value("restart_s", plan.spot.restart_s),
                  key_value("source", std::string(plan.spot.from_runs ? "runs" : "options"))}}};
}

Section choice_section(const ClusterPlan& plan) {
  if (!plan.choice) return json_field("choice", {});
  return {"choice", "", Fields{candidate_fields(plan, *plan.choice)}};
}

}  // namespace

Report cluster_plan_view(const ClusterPlan& plan) {
  Report report;
  report.sections.push_back({"", "", cluster_plan_prose(plan)});
  report.sections.push_back(json_field("schema_version", 1.0));
  report.sections.push_back(json_field("objective", objective_word(plan.objective)));
  report.sections.push_back(
      json_field("status", std::string(plan.choice ? "feasible" : "infeasible")));
  report.sections.push_back(json_field("target", plan.target));
  report.sections.push_back(json_field("learning_rate_rule", plan.learning_rate_rule));
  report.sections.push_back(choice_section(plan));
  report.sections.push_back(range_section(plan));
  add_robustness(report, plan);
  Table front = candidate_table(plan, plan.pareto);
  front.shown = 12;
  report.sections.push_back({"pareto", "Nobody is both faster and cheaper", front});
  report.sections.push_back(knee_section(plan));
  report.sections.push_back(policies_section(plan));
  const bool several = plan.machines.size() > 1;
  report.sections.push_back({"machines", several ? "The best of each machine type" : "",
                             candidate_table(plan, plan.by_machine)});
  report.sections.push_back(candidates_section(plan));
  report.sections.push_back(spot_section(plan));
  report.sections.push_back(rejected_section(plan));
  report.sections.push_back(nearest_section(plan));
  report.sections.push_back(warnings_section(plan.warnings));
  report.csv_section = "candidates";
  return report;
}

}  // namespace plumber
