// SPDX-License-Identifier: Apache-2.0
#include "report/analysis_view.h"

#include <algorithm>

#include "report/buffer_table.h"
#include "report/node_table.h"
#include "report/sections.h"
#include "report/words.h"

namespace plumber {
namespace {

const Bound* bottleneck_of(const Analysis& analysis) {
  return analysis.bounds.empty() ? nullptr : &analysis.bounds.front();
}

bool limits(const Analysis& analysis, NodeId node) {
  const Bound* bound = bottleneck_of(analysis);
  return bound && std::find(bound->nodes.begin(), bound->nodes.end(), node) != bound->nodes.end();
}

Sentence consumer_sentence(const Analysis& analysis, const std::pair<Unit, Value>& share) {
  for (const Bound& bound : analysis.bounds) {
    if (bound.kind == BoundKind::kConsumer) continue;
    return {
        "Consumer-bound: the consumer waits only {} of the time; the pipeline could give {}, and a "
        "faster one would not help.",
        {share, {Unit::kPerSecond, bound.bound_per_s}}};
  }
  return {"Consumer-bound: the consumer waits only {} of the time.", {share}};
}

// The verdict's first words; what limits follows.
Sentence verdict_sentence(const Pipeline& pipeline, const Analysis& analysis) {
  const Bound* bound = bottleneck_of(analysis);
  if (!bound) {
    return {"Unknown: the trace has no counters, so it does not show what limits the pipeline.",
            {}};
  }
  const std::pair<Unit, Value> share{Unit::kShare, value_of(analysis.consumer.wait_share)};
  Sentence sentence;
  switch (analysis.verdict) {
    case Verdict::kInputBound:
      sentence = {"Input-bound: ", {}};
      if (!pipeline.consumer.bare && bound->kind == BoundKind::kConsumer) {
        return {
            "Input-bound: the consumer waits {} of the time, longer than the nodes' work explains.",
            {share}};
      }
      if (!pipeline.consumer.bare) {
        sentence = {"Input-bound: the consumer waits {} of the time; ", {share}};
      }
      break;
    case Verdict::kConsumerBound:
      return consumer_sentence(analysis, share);
    case Verdict::kBalanced:
      sentence = {"Balanced: the consumer waits {} of the time; ", {share}};
      break;
    case Verdict::kUnknown:
      sentence = {"Unknown consumer: ", {}};
      break;
  }
  sentence += limit_of(pipeline, *bound);
  sentence.pattern += ".";
  return sentence;
}

Sentence observed_sentence(const Pipeline& pipeline, const Analysis& analysis) {
  Sentence sentence{
      analysis.root_elements == 1 ? "Traced: {} element in {}" : "Traced: {} elements in {}",
      {{Unit::kCount, analysis.root_elements}, {Unit::kSeconds, analysis.elapsed_s}}};
  if (analysis.rate.observed_per_s) {
    sentence += {", {}", {{Unit::kPerSecond, *analysis.rate.observed_per_s}}};
  }
  if (analysis.rate.ci95_per_s) {
    const auto [low, high] = *analysis.rate.ci95_per_s;
    sentence += {" (95 % interval {})", {{Unit::kPerSecond, std::vector<double>{low, high}}}};
  }
  if (analysis.rate.start_s) {
    sentence += {" after {} to the first", {{Unit::kSeconds, *analysis.rate.start_s}}};
  }
  if (analysis.rate.epoch_start_s) {
    sentence += {", {} of each epoch between its elements",
                 {{Unit::kSeconds, *analysis.rate.epoch_start_s}}};
  }
  if (analysis.cores > 0) {
    sentence +=
        {analysis.cores == 1 ? ", on {} core" : ", on {} cores", {{Unit::kCount, analysis.cores}}};
  }
  sentence.pattern +=
      pipeline.consumer.bare ? "; only the recorder pulled, as fast as it could." : ".";
  return sentence;
}

Sentence unexplained_sentence(double share) {
  return {
      "Doubtful: {} of the traced time is in no node (waiting for a lock, a core, a disk); if "
      "others used this machine, trace again without them.",
      {{Unit::kShare, share}}};
}

Prose headline(const Pipeline& pipeline, const Analysis& analysis) {
  Prose prose;
  prose.sentences.push_back(verdict_sentence(pipeline, analysis));
  if (bottleneck_of(analysis)) prose.sentences.push_back(observed_sentence(pipeline, analysis));
  if (analysis.rate.unexplained_share > kMuchUnexplained)
    prose.sentences.push_back(unexplained_sentence(analysis.rate.unexplained_share));
  return prose;
}

Section trace_section(const Pipeline& pipeline, const Analysis& analysis) {
  const std::string mode = pipeline.consumer.bare ? "bare" : "training";
  return {"trace", "",
          Fields{{{"name", "", Unit::kNone, pipeline.name},
                  {"dialect", "", Unit::kNone, word_of(pipeline.dialect)},
                  {"mode", "", Unit::kNone, mode},
                  {"dumps", "", Unit::kCount, static_cast<double>(analysis.dumps)},
                  {"elapsed_s", "", Unit::kSeconds, analysis.elapsed_s},
                  {"root_elements", "", Unit::kCount, analysis.root_elements}}}};
}

Section consumer_section(const ConsumerAnalysis& consumer) {
  return {"consumer", "",
          Fields{{{"think_time_s", "", Unit::kSeconds, value_of(consumer.think_time_s)},
                  {"next_latency_s", "", Unit::kSeconds, value_of(consumer.next_latency_s)},
                  {"wait_share", "", Unit::kShare, value_of(consumer.wait_share)}}}};
}

void add_overview(Report& report, const Pipeline& pipeline, const Analysis& analysis) {
  Value interval;
  if (const auto& ci = analysis.rate.ci95_per_s)
    interval = std::vector<double>{ci->first, ci->second};
  const auto known = [](double value) { return value > 0 ? Value(value) : Value(); };
  report.sections.push_back(json_field("schema_version", 1.0));
  report.sections.push_back(trace_section(pipeline, analysis));
  report.sections.push_back({"machine", "",
                             Fields{{{"cores", "", Unit::kCount, known(pipeline.machine.cores)},
                                     {"memory_total_bytes", "", Unit::kBytes,
                                      known(pipeline.machine.memory_total_bytes)}}}});
  report.sections.push_back(
      {"rate", "",
       Fields{{{"observed_per_s", "", Unit::kPerSecond, value_of(analysis.rate.observed_per_s)},
               {"ci95_per_s", "", Unit::kPerSecond, interval},
               {"start_s", "", Unit::kSeconds, value_of(analysis.rate.start_s)},
               {"epoch_start_s", "", Unit::kSeconds, value_of(analysis.rate.epoch_start_s)}}}});
  report.sections.push_back(json_field("verdict", word_of(analysis.verdict)));
  report.sections.push_back(consumer_section(analysis.consumer));
  report.sections.push_back(
      {"trust", "",
       Fields{{{"cpu_ratio", "", Unit::kNone, value_of(analysis.trust.cpu_ratio)},
               {"coverage", "", Unit::kNone, value_of(analysis.trust.coverage)}}}});
}

Section bottleneck_section(const Pipeline& pipeline, const Analysis& analysis) {
  const Bound* bound = bottleneck_of(analysis);
  if (!bound) return json_field("bottleneck", {});
  return {"bottleneck", "", Fields{bound_fields(pipeline, *bound, "")}};
}

Section bounds_section(const Pipeline& pipeline, const Analysis& analysis) {
  Table table;
  table.columns = {{"kind", "", Unit::kNone},
                   {"nodes", "", Unit::kNone},
                   {"bound_per_s", "at most", Unit::kPerSecond},
                   {"", "x traced", Unit::kNone},
                   {"", "limit", Unit::kNone},
                   {"", "nodes, largest share first", Unit::kNone, true}};
  table.shown = 5;
  for (const Bound& bound : analysis.bounds) {
    Value factor;
    if (const auto& observed = analysis.rate.observed_per_s; observed && *observed > 0) {
      factor = bound.bound_per_s / *observed;
    }
    table.rows.push_back({{word_of(bound.kind), names_of(pipeline, bound.nodes), bound.bound_per_s,
                           factor, binding_of(bound.kind), labels_of(pipeline, bound.nodes)},
                          table.rows.empty()});
  }
  return {"bounds", "What limits the rate, lowest first", table};
}

// Of several processes on a host each holds all of it.
void add_memory(Report& report, const Memory& memory) {
  Fields fields{{{"held_bytes", "", Unit::kBytes, memory.held_bytes}}};
  Sentence sum{"{} in all", {{Unit::kBytes, memory.held_bytes}}};
  if (memory.processes > 1) {
    const double host_bytes = memory.processes * memory.held_bytes;
    fields.fields.push_back({"processes_per_host", "", Unit::kCount, memory.processes});
    fields.fields.push_back({"host_bytes", "", Unit::kBytes, host_bytes});
    sum = {"{} in each of {} processes, {} on the host",
           {{Unit::kBytes, memory.held_bytes},
            {Unit::kCount, memory.processes},
            {Unit::kBytes, host_bytes}}};
  }
  report.sections.push_back({"memory", "", fields});
  report.sections.push_back(
      memory_items(memory.items, "Memory that the pipeline holds", std::move(sum)));
}

Section findings_section(const std::vector<Finding>& findings) {
  Table table;
  table.layout = Layout::kItems;
  table.columns = {{"id", "", Unit::kNone},
                   {"severity", "", Unit::kNone},
                   {"nodes", "", Unit::kNone},
                   {"text", "advice", Unit::kNone},
                   {"evidence", "evidence", Unit::kNone},
                   {"gain_per_s", "gain", Unit::kGainPerSecond},
                   {"python", "python", Unit::kNone}};
  for (const Finding& finding : findings) {
    table.rows.push_back(
        {{finding.id, word_of(finding.severity), finding.nodes, finding.text, finding.evidence,
          value_of(finding.gain_per_s), finding.python.empty() ? Value() : Value(finding.python)},
         false});
  }
  const bool gains = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.gain_per_s.has_value(); });
  return {
      "findings", "Advice", table,
      gains ? Sentence{"gain: over the program as traced, by this change alone", {}} : Sentence{}};
}

Graph graph_of(const Pipeline& pipeline, const Analysis& analysis) {
  Graph graph = pipeline_graph(pipeline);
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const NodeId id{static_cast<std::int32_t>(i)};
    const NodeAnalysis& node = analysis.nodes[id];
    if (!analysis.bounds.empty()) {
      graph.nodes[i].note = {"{} per root, {} each, {} cores",
                             {{Unit::kNone, node.visit_ratio},
                              {Unit::kSeconds, node.service_s},
                              {Unit::kNone, node.busy_cores}}};
    }
    if (!analysis.bounds.empty() && lacks_counters(pipeline[id]))
      graph.nodes[i].note = {"{} per root, no counters", {{Unit::kNone, node.visit_ratio}}};
    graph.nodes[i].highlighted = limits(analysis, id);
    graph.nodes[i].faded = node.below_cache;
  }
  return graph;
}

}  // namespace

Report analysis_view(const Pipeline& pipeline, const Analysis& analysis) {
  Report report;
  report.sections.push_back({"", "", headline(pipeline, analysis)});
  add_overview(report, pipeline, analysis);
  report.sections.push_back(bottleneck_section(pipeline, analysis));
  report.sections.push_back(bounds_section(pipeline, analysis));
  report.sections.push_back(node_table(pipeline, analysis));
  report.sections.push_back(buffer_table(pipeline, analysis));
  add_memory(report, analysis.memory);
  report.sections.push_back({"unaligned", "",
                             Fields{{{"graph", "", Unit::kNone, pipeline.unaligned.graph},
                                     {"model", "", Unit::kNone, pipeline.unaligned.model},
                                     {"unseen", "", Unit::kNone, pipeline.unaligned.unseen}}}});
  report.sections.push_back(findings_section(analysis.findings));
  if (analysis.verdict != Verdict::kConsumerBound && !analysis.bounds.empty()) {
    report.sections.push_back(
        {"", "", Prose{{{"plumber optimize makes a plan and a changed program of this.", {}}}}});
  }
  report.sections.push_back(json_field("warnings", analysis.warnings));
  report.csv_section = "nodes";
  report.graph = graph_of(pipeline, analysis);
  return report;
}

}  // namespace plumber
