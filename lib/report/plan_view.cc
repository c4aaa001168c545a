// SPDX-License-Identifier: Apache-2.0
#include "report/plan_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/disk_sections.h"
#include "report/plan_first_sentence.h"
#include "report/sections.h"
#include "report/words.h"

namespace plumber {
namespace {

// "Expect 69/s to 115/s: ...", "An upper bound: ...": how far to trust the number, and why.
Sentence trust_sentence(const Predicted& predicted) {
  const std::pair<Unit, Value> why{Unit::kNone, predicted.why};
  const auto [low, high] = predicted.range_per_s;
  Sentence sentence{predicted.upper_bound ? "An upper bound" : "A lower bound", {}};
  if (!predicted.upper_bound && !predicted.lower_bound) {
    if (high <= low) return {predicted.why.empty() ? "" : "It rests on this: {}.", {why}};
    sentence = {"Expect {}", {{Unit::kPerSecond, std::vector<double>{low, high}}}};
  }
  if (predicted.why.empty()) {
    sentence.pattern += ".";
  } else {
    sentence += {": {}.", {why}};
  }
  return sentence;
}

// Said where it matters.
void add_sensitivity_sentence(Prose& prose, const Predicted& predicted) {
  constexpr double kMatters = 0.02;
  if (!predicted.sensitivity || predicted.sensitivity->node.empty()) return;
  const Sensitivity& s = *predicted.sensitivity;
  if (s.low_per_s > (1 - kMatters) * predicted.after_per_s) return;
  prose.sentences.push_back({"One node's work {} off makes that {}, most of all {}.",
                             {{Unit::kShare, s.error},
                              {Unit::kPerSecond, std::vector<double>{s.low_per_s, s.high_per_s}},
                              {Unit::kNone, s.node}}});
}

void add_cache_sentence(Prose& prose, const Predicted& predicted) {
  if (!(predicted.first_epoch_per_s.value_or(0) > 0 &&
        predicted.first_epoch_per_s < predicted.after_per_s)) {
    return;
  }
  Sentence sentence{"The first epoch, which fills the cache, runs at {}",
                    {{Unit::kPerSecond, *predicted.first_epoch_per_s}}};
  if (predicted.cache_pays_after_epochs) {
    sentence += {*predicted.cache_pays_after_epochs == 1
                     ? "; the cache has paid for itself after {} epoch"
                     : "; the cache has paid for itself after {} epochs",
                 {{Unit::kNone, *predicted.cache_pays_after_epochs}}};
  }
  sentence.pattern += ".";
  prose.sentences.push_back(std::move(sentence));
}

Sentence bound_sentence(const Pipeline& pipeline, const OptimizeResult& result) {
  const Predicted& predicted = result.predicted;
  const bool part = predicted.cached_share > 0;
  Sentence sentence{result.status == PlanStatus::kOptimal ? "Then " : "There, ", {}};
  if (part) sentence.pattern = "In the part of an epoch that is not cached, ";
  sentence += limit_of(pipeline, *predicted.bound);
  if (part)
    sentence +=
        {"; with the {} that are, the mean is {}",
         {{Unit::kShare, predicted.cached_share}, {Unit::kPerSecond, predicted.after_per_s}}};
  sentence.pattern += ".";
  return sentence;
}

void add_expectations(Prose& prose, const Pipeline& pipeline, const OptimizeResult& result) {
  const Predicted& predicted = result.predicted;
  if (predicted.as_traced_per_s) {
    prose.sentences.push_back(
        {"The program as traced ran at {}.", {{Unit::kPerSecond, *predicted.as_traced_per_s}}});
  }
  if (result.status == PlanStatus::kInfeasible || predicted.before_per_s <= 0) return;
  Sentence trust = trust_sentence(predicted);
  if (!trust.pattern.empty()) prose.sentences.push_back(std::move(trust));
  add_sensitivity_sentence(prose, predicted);
  add_cache_sentence(prose, predicted);
  if (predicted.bound) {
    prose.sentences.push_back(bound_sentence(pipeline, result));
  }
}

Prose headline(const Pipeline& pipeline, const OptimizeResult& result) {
  Prose prose{{first_sentence(result)}};
  add_expectations(prose, pipeline, result);
  if (result.more.unchanged_cores && result.status == PlanStatus::kOptimal) {
    const bool one = *result.more.unchanged_cores == 1;
    prose.sentences.push_back({one ? "Without a change the target takes {} core."
                                   : "Without a change the target takes {} cores.",
                               {{Unit::kCount, *result.more.unchanged_cores}}});
  }
  if (const Limits& share = result.limits; share.processes > 1) {
    prose.sentences.push_back(
        {"All of this is for one of {} processes, which share the host's {} cores and {}.",
         {{Unit::kCount, share.processes},
          {Unit::kCount, share.processes * share.cores},
          {Unit::kBytes, share.processes * share.memory_bytes}}});
  }
  if (result.limits.cores_from_trace) {
    prose.sentences.push_back(
        {result.limits.cores == 1
             ? "The {} core is the traced machine's: --cores N plans for another."
             : "The {} cores are the traced machine's: --cores N plans for another.",
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
  Fields limits{
      {{"cores", "", Unit::kCount, result.limits.cores},
       {"memory_bytes", "", Unit::kBytes, result.limits.memory_bytes},
       {"disk_bytes_per_s", "", Unit::kBytesPerSecond, disk_rate_of(result.limits.disks)}}};
  if (result.limits.processes > 1)
    limits.fields.push_back({"processes_per_host", "", Unit::kCount, result.limits.processes});
  report.sections.push_back({"limits", "", limits});
  report.sections.push_back(disks_section(result.limits.disks));
  if (result.limits.disk_cache)
    report.sections.push_back(disk_cache_limits(*result.limits.disk_cache));
  report.sections.push_back(json_field("permissions", result.permissions));
}

Section predicted_section(const Pipeline& pipeline, const Predicted& predicted) {
  Fields fields{
      {{"as_traced_per_s", "", Unit::kPerSecond, value_of(predicted.as_traced_per_s)},
       {"before_per_s", "", Unit::kPerSecond, predicted.before_per_s},
       {"first_epoch_per_s", "", Unit::kPerSecond, value_of(predicted.first_epoch_per_s)},
       {"after_per_s", "", Unit::kPerSecond, predicted.after_per_s},
       {"range_per_s", "", Unit::kPerSecond,
        std::vector<double>{predicted.range_per_s.first, predicted.range_per_s.second}},
       {"upper_bound", "", Unit::kNone, predicted.upper_bound},
       {"lower_bound", "", Unit::kNone, predicted.lower_bound},
       {"why", "", Unit::kNone, predicted.why},
       {"speedup", "", Unit::kNone, predicted.speedup},
       {"cache_pays_after_epochs", "", Unit::kNone, value_of(predicted.cache_pays_after_epochs)}}};
  if (predicted.cached_share > 0)
    fields.fields.push_back({"cached_share", "", Unit::kShare, predicted.cached_share});
  if (predicted.bound) {
    for (Field& field : bound_fields(pipeline, *predicted.bound, "bound.")) {
      fields.fields.push_back(std::move(field));
    }
  } else {
    fields.fields.push_back({"bound", "", Unit::kNone, {}});
  }
  if (predicted.sensitivity) {
    const Sensitivity& s = *predicted.sensitivity;
    fields.fields.push_back({"sensitivity.error", "", Unit::kNone, s.error});
    fields.fields.push_back({"sensitivity.low_per_s", "", Unit::kPerSecond, s.low_per_s});
    fields.fields.push_back({"sensitivity.high_per_s", "", Unit::kPerSecond, s.high_per_s});
    fields.fields.push_back({"sensitivity.node", "", Unit::kNone, s.node});
  } else {
    fields.fields.push_back({"sensitivity", "", Unit::kNone, {}});
  }
  return {"predicted", "", fields};
}

Section theta_section(const Pipeline& pipeline, const LpResult& lp) {
  Table table;
  table.columns = {
      {"node", "", Unit::kNone}, {"cores", "cores", Unit::kCores}, {"", "node", Unit::kNone, true}};
  table.shown = 8;
  for (const Theta& theta : lp.theta) {
    const Node& node = pipeline[theta.node];
    const bool tiny = theta.cores < 0.005;
    table.rows.push_back({{node.name, theta.cores, label_of(node)}, false, tiny});
  }
  return {"lp.theta", "Cores that each node gets, source first", table};
}

Section more_section(const MoreResources& more) {
  Fields fields{{{"core_gain_per_s", more.core_gain_per_s > 0 ? "one more core" : "",
                  Unit::kGainPerSecond, more.core_gain_per_s}}};
  if (more.next_memory) {
    fields.fields.push_back(
        {"next_memory.bytes", "memory to add", Unit::kBytes, more.next_memory->bytes});
    fields.fields.push_back({"next_memory.gain_per_s", "what it brings", Unit::kGainPerSecond,
                             more.next_memory->gain_per_s});
  } else {
    fields.fields.push_back({"next_memory", "", Unit::kNone, {}});
  }
  fields.fields.push_back({"disk_gain_per_s",
                           more.disk_gain_per_s.value_or(0) > 0 ? "a faster disk" : "",
                           Unit::kGainPerSecond, value_of(more.disk_gain_per_s)});
  fields.fields.push_back({"unchanged_cores", "", Unit::kCores, value_of(more.unchanged_cores)});
  return {"more", "What more would bring", fields};
}

Section provision_section(const std::optional<Provision>& provision) {
  if (!provision) return json_field("provision", Value());
  Fields fields{{{"cores", "cores", Unit::kCount, provision->cores},
                 {"memory_bytes", "memory", Unit::kBytes, provision->memory_bytes},
                 {"disk", provision->disk.empty() ? "" : "disk", Unit::kNone,
                  provision->disk.empty() ? Value() : Value(provision->disk)},
                 {"disk_bytes_per_s", provision->disk_bytes_per_s ? "disk reads" : "",
                  Unit::kBytesPerSecond, value_of(provision->disk_bytes_per_s)},
                 {"cores_usd_per_hour", "$ an hour for cores", Unit::kNone, provision->cores_usd},
                 {"memory_usd_per_hour", "for memory", Unit::kNone, provision->memory_usd},
                 {"disk_usd_per_hour", "for disk", Unit::kNone, provision->disk_usd},
                 {"usd_per_hour", "in all", Unit::kNone, provision->usd_per_hour()}}};
  return {"provision", "The cheapest way to the target", fields};
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
         false,
         is_housekeeping(edit)});
  }
  const bool gains =
      std::ranges::any_of(edits, [](const Edit& edit) { return edit.gain_per_s.has_value(); });
  return {"edits", "Changes", table,
          gains ? Sentence{"gain: what the plan would lose if this stayed as stock TensorFlow "
                           "runs it",
                           {}}
                : Sentence{}};
}

void add_housekeeping(Report& report, const std::vector<Edit>& edits) {
  const auto count = std::count_if(edits.begin(), edits.end(), is_housekeeping);
  if (count == 0) return;
  report.sections.push_back(
      {"", "",
       Prose{{{"Besides, {} that the recorder had set {} taken out again.",
               {{Unit::kNone, fmt::format("{} option{}", count, count == 1 ? "" : "s")},
                {Unit::kNone, count == 1 ? "is" : "are"}}}}}});
}

Section environment_section(const std::map<std::string, std::string>& environment) {
  Fields fields;
  for (const auto& [name, value] : environment) {
    fields.fields.push_back({name, name, Unit::kNone, value});
  }
  const char* title = environment.empty() ? "" : "Set in the environment of the training job";
  return {"environment", title, fields};
}

Section rejected_section(const Pipeline& pipeline, const std::vector<Rejected>& rejected) {
  Table table;
  table.layout = Layout::kItems;
  table.columns = {{"", "what", Unit::kNone},
                   {"edit", "", Unit::kNone},
                   {"node", "", Unit::kNone},
                   {"reason", "", Unit::kNone}};
  table.shown = 5;
  for (const Rejected& candidate : rejected) {
    const std::string lead = candidate_of(candidate, pipeline) + ": " + candidate.reason;
    table.rows.push_back({{lead, candidate.edit, candidate.node, candidate.reason}, false});
  }
  return {"rejected", "Considered and left out", table};
}

}  // namespace

Report plan_view(const Pipeline& pipeline, const OptimizeResult& result) {
  Report report;
  report.sections.push_back({"", "", headline(pipeline, result)});
  add_overview(report, result);
  report.sections.push_back(predicted_section(pipeline, result.predicted));
  report.sections.push_back(provision_section(result.provision));
  report.sections.push_back(edits_section(pipeline, result.plan.edits));
  add_housekeeping(report, result.plan.edits);
  report.sections.push_back(environment_section(result.plan.environment));
  report.sections.push_back(
      {"memory", "",
       Fields{{{"budget_bytes", "", Unit::kBytes, result.memory.budget_bytes},
               {"stock_bytes", "", Unit::kBytes, result.memory.stock_bytes},
               {"planned_bytes", "", Unit::kBytes, result.memory.planned_bytes}}}});
  const bool fits = result.status != PlanStatus::kInfeasible ||
                    result.memory.planned_bytes <= result.memory.budget_bytes;
  report.sections.push_back(memory_items(
      result.memory.items, "Memory",
      {fits ? "{} planned of {}" : "{} at least, of {}",
       {{Unit::kBytes, result.memory.planned_bytes}, {Unit::kBytes, result.memory.budget_bytes}}}));
  if (const auto& cache = result.limits.disk_cache) {
    report.sections.push_back(
        {"disk_cache", "",
         Fields{{{"budget_bytes", "", Unit::kBytes, result.disk.room_bytes},
                 {"planned_bytes", "", Unit::kBytes, result.disk.planned_bytes}}}});
    report.sections.push_back(disk_cache_items(*cache, result.disk));
  }
  report.sections.push_back(
      {"lp", "", Fields{{{"objective_per_s", "", Unit::kPerSecond, result.lp.objective_per_s}}}});
  report.sections.push_back(theta_section(pipeline, result.lp));
  report.sections.push_back({"lp", "", Fields{{{"binding", "", Unit::kNone, result.lp.binding}}}});
  report.sections.push_back(more_section(result.more));
  report.sections.push_back(rejected_section(pipeline, result.rejected));
  report.sections.push_back(json_field("warnings", result.warnings));
  return report;
}

}  // namespace plumber
