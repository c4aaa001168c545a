// SPDX-License-Identifier: Apache-2.0
#include "report/plan_view.h"

#include <fmt/format.h>

#include "report/sections.h"
#include "report/words.h"

namespace plumber {
namespace {

// "2 cores and 8 GiB": the limits as the sentences name them.
void add_limits(Sentence& sentence, const Limits& limits) {
  sentence.pattern += limits.cores == 1 ? "{} core and {}" : "{} cores and {}";
  sentence.values.push_back({Unit::kCount, limits.cores});
  sentence.values.push_back({Unit::kBytes, limits.memory_bytes});
}

Sentence optimal_sentence(const OptimizeResult& result) {
  const Predicted& predicted = result.predicted;
  Sentence sentence{
      predicted.upper_bound
          ? "From {} (stock TensorFlow) to at most {}: up to {} times as fast with {} on "
          : "From {} (stock TensorFlow) to {}: {} times as fast with {} on ",
      {{Unit::kPerSecond, predicted.before_per_s},
       {Unit::kPerSecond, predicted.after_per_s},
       {Unit::kNone, predicted.speedup}}};
  const std::size_t edits = result.plan.edits.size();
  sentence.values.push_back(
      {Unit::kNone, fmt::format("{} change{}", edits, edits == 1 ? "" : "s")});
  add_limits(sentence, result.limits);
  sentence.pattern += ".";
  return sentence;
}

Sentence first_sentence(const OptimizeResult& result) {
  const Predicted& predicted = result.predicted;
  Sentence sentence;
  switch (result.status) {
    case PlanStatus::kOptimal:
      return optimal_sentence(result);
    case PlanStatus::kNoChange:
      sentence = {"No change: stock TensorFlow runs this program at {}, and nothing within ",
                  {{Unit::kPerSecond, predicted.before_per_s}}};
      add_limits(sentence, result.limits);
      sentence.pattern += " is worth a change.";
      return sentence;
    case PlanStatus::kInfeasible:
      sentence = {"Not possible: the best plan within ", {}};
      add_limits(sentence, result.limits);
      sentence.pattern += " reaches {}.";
      sentence.values.push_back({Unit::kPerSecond, predicted.after_per_s});
      return sentence;
  }
  return sentence;
}

void add_expectations(Prose& prose, const Pipeline& pipeline, const OptimizeResult& result) {
  const Predicted& predicted = result.predicted;
  if (predicted.as_traced_per_s) {
    prose.sentences.push_back(
        {"The program as traced: {}.", {{Unit::kPerSecond, *predicted.as_traced_per_s}}});
  }
  const auto [low, high] = predicted.range_per_s;
  if (result.status == PlanStatus::kOptimal && high > low) {
    prose.sentences.push_back({"Expect {}.", {{Unit::kPerSecond, std::vector<double>{low, high}}}});
  }
  if (!predicted.why.empty()) prose.sentences.push_back({"{}", {{Unit::kNone, predicted.why}}});
  if (predicted.first_epoch_per_s > 0 && predicted.first_epoch_per_s < predicted.after_per_s) {
    prose.sentences.push_back({"The first epoch, which fills the cache, runs at {}.",
                               {{Unit::kPerSecond, predicted.first_epoch_per_s}}});
  }
  if (predicted.cache_pays_after_epochs) {
    prose.sentences.push_back({"The cache has paid for itself after {} epochs.",
                               {{Unit::kNone, *predicted.cache_pays_after_epochs}}});
  }
  if (predicted.bound && result.status != PlanStatus::kInfeasible) {
    Sentence sentence{"Then ", {}};
    sentence += limit_of(pipeline, *predicted.bound);
    sentence.pattern += ".";
    prose.sentences.push_back(std::move(sentence));
  }
}

Prose headline(const Pipeline& pipeline, const OptimizeResult& result) {
  Prose prose{{first_sentence(result)}};
  add_expectations(prose, pipeline, result);
  if (result.limits.cores_from_trace) {
    prose.sentences.push_back(
        {"The {} cores are the traced machine's: --cores N plans for another.",
         {{Unit::kCount, result.limits.cores}}});
  }
  if (result.limits.memory_from_trace) {
    prose.sentences.push_back({"The {} are the traced machine's: --mem SIZE plans for another.",
                               {{Unit::kBytes, result.limits.memory_bytes}}});
  }
  return prose;
}

void add_overview(Report& report, const OptimizeResult& result) {
  report.sections.push_back(json_field("schema_version", 1.0));
  report.sections.push_back(json_field("graph_fingerprint", result.plan.graph_fingerprint));
  report.sections.push_back(json_field("model", word_of(result.model)));
  report.sections.push_back(json_field("status", word_of(result.status)));
  report.sections.push_back({"limits", "",
                             Fields{{{"cores", "", Unit::kCount, result.limits.cores},
                                     {"memory_bytes", "", Unit::kBytes, result.limits.memory_bytes},
                                     {"disk_bytes_per_s", "", Unit::kBytesPerSecond,
                                      value_of(result.limits.disk_bytes_per_s)}}}});
  report.sections.push_back(json_field("permissions", result.permissions));
}

Section predicted_section(const Pipeline& pipeline, const Predicted& predicted) {
  Fields fields{
      {{"as_traced_per_s", "", Unit::kPerSecond, value_of(predicted.as_traced_per_s)},
       {"before_per_s", "", Unit::kPerSecond, predicted.before_per_s},
       {"first_epoch_per_s", "", Unit::kPerSecond, predicted.first_epoch_per_s},
       {"after_per_s", "", Unit::kPerSecond, predicted.after_per_s},
       {"range_per_s", "", Unit::kPerSecond,
        std::vector<double>{predicted.range_per_s.first, predicted.range_per_s.second}},
       {"upper_bound", "", Unit::kNone, predicted.upper_bound},
       {"why", "", Unit::kNone, predicted.why},
       {"speedup", "", Unit::kNone, predicted.speedup},
       {"cache_pays_after_epochs", "", Unit::kNone, value_of(predicted.cache_pays_after_epochs)}}};
  if (predicted.bound) {
    for (Field& field : bound_fields(pipeline, *predicted.bound, "bound.")) {
      fields.fields.push_back(std::move(field));
    }
  } else {
    fields.fields.push_back({"bound", "", Unit::kNone, {}});
  }
  return {"predicted", "", fields};
}

Section theta_section(const Pipeline& pipeline, const LpResult& lp) {
  Table table;
  table.columns = {
      {"node", "", Unit::kNone}, {"cores", "cores", Unit::kNone}, {"", "node", Unit::kNone, true}};
  table.shown = 8;
  for (const Theta& theta : lp.theta) {
    const Node& node = pipeline[theta.node];
    table.rows.push_back({{node.name, theta.cores, label_of(node)}, false});
  }
  return {"lp.theta", "Cores that each node gets, source first", table};
}

Section more_section(const MoreResources& more) {
  Fields fields{{{"core_gain_per_s", "one more core", Unit::kGainPerSecond, more.core_gain_per_s}}};
  if (more.next_memory) {
    fields.fields.push_back(
        {"next_memory.bytes", "memory to add", Unit::kBytes, more.next_memory->bytes});
    fields.fields.push_back({"next_memory.gain_per_s", "what it brings", Unit::kGainPerSecond,
                             more.next_memory->gain_per_s});
  } else {
    fields.fields.push_back({"next_memory", "", Unit::kNone, {}});
  }
  fields.fields.push_back({"disk_gain_per_s", more.disk_gain_per_s ? "a faster disk" : "",
                           Unit::kGainPerSecond, value_of(more.disk_gain_per_s)});
  return {"more", "What more would bring", fields};
}

Section edits_section(const Pipeline& pipeline, const std::vector<Edit>& edits) {
  Table table;
  table.layout = Layout::kItems;
  table.columns = {{"id", "", Unit::kNone},          {"", "change", Unit::kNone},
                   {"edit", "", Unit::kNone},        {"node", "", Unit::kNone},
                   {"to", "", Unit::kNone},          {"value", "", Unit::kNone},
                   {"reason", "why", Unit::kNone},   {"gain_per_s", "gain", Unit::kGainPerSecond},
                   {"python", "python", Unit::kNone}};
  for (const Edit& edit : edits) {
    table.rows.push_back(
        {{edit.id, sentence_of(edit, pipeline) + ".", edit_word(edit.kind), edit.node, edit.to,
          value_of(edit.value), edit.reason, value_of(edit.gain_per_s), edit.python},
         false});
  }
  return {"edits", "Changes", table};
}

Section environment_section(const std::map<std::string, std::string>& environment) {
  Fields fields;
  for (const auto& [name, value] : environment) {
    fields.fields.push_back({name, name, Unit::kNone, value});
  }
  const char* title = environment.empty() ? "" : "Set in the environment of the training job";
  return {"environment", title, fields};
}

Section rejected_section(const std::vector<Rejected>& rejected) {
  Table table;
  table.layout = Layout::kItems;
  table.columns = {{"", "what", Unit::kNone},
                   {"edit", "", Unit::kNone},
                   {"node", "", Unit::kNone},
                   {"reason", "why not", Unit::kNone}};
  table.shown = 5;
  for (const Rejected& candidate : rejected) {
    const std::string lead = fmt::format("{} at {}", candidate.edit, candidate.node);
    table.rows.push_back({{candidate.node.empty() ? candidate.edit : lead, candidate.edit,
                           candidate.node, candidate.reason},
                          false});
  }
  return {"rejected", "Rejected", table};
}

}  // namespace

Report plan_view(const Pipeline& pipeline, const OptimizeResult& result) {
  Report report;
  report.sections.push_back({"", "", headline(pipeline, result)});
  add_overview(report, result);
  report.sections.push_back(predicted_section(pipeline, result.predicted));
  report.sections.push_back(edits_section(pipeline, result.plan.edits));
  report.sections.push_back(environment_section(result.plan.environment));
  report.sections.push_back(
      {"memory", "Memory",
       Fields{{{"budget_bytes", "budget", Unit::kBytes, result.memory.budget_bytes},
               {"planned_bytes", "planned", Unit::kBytes, result.memory.planned_bytes}}}});
  report.sections.push_back(memory_items(result.memory.items, "Memory by node"));
  report.sections.push_back(
      {"lp", "", Fields{{{"objective_per_s", "", Unit::kPerSecond, result.lp.objective_per_s}}}});
  report.sections.push_back(theta_section(pipeline, result.lp));
  report.sections.push_back({"lp", "", Fields{{{"binding", "", Unit::kNone, result.lp.binding}}}});
  report.sections.push_back(more_section(result.more));
  report.sections.push_back(rejected_section(result.rejected));
  report.sections.push_back(json_field("warnings", result.warnings));
  return report;
}

}  // namespace plumber
