// SPDX-License-Identifier: Apache-2.0
#include "report/analysis_view.h"

#include <fmt/format.h>

#include <algorithm>

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

// The verdict's first words; what limits follows.
Sentence verdict_sentence(const Pipeline& pipeline, const Analysis& analysis) {
  const Bound* bound = bottleneck_of(analysis);
  if (!bound) {
    return {"Unknown: the trace has no counters, so it does not show what limits the pipeline.",
            {}};
  }
  const std::pair<Unit, Value> rate{Unit::kPerSecond, bound->bound_per_s};
  const std::pair<Unit, Value> share{Unit::kShare, value_of(analysis.consumer.wait_share)};
  const std::pair<Unit, Value> binding{Unit::kNone, binding_of(pipeline, *bound)};
  switch (analysis.verdict) {
    case Verdict::kInputBound:
      if (pipeline.consumer.bare)
        return {"Input-bound: {} limits the pipeline to {}.", {binding, rate}};
      return {"Input-bound: the consumer waits {} of the time; {} limits the pipeline to {}.",
              {share, binding, rate}};
    case Verdict::kConsumerBound:
      return {
          "Consumer-bound: the consumer waits only {} of the time, a faster pipeline would not "
          "help.",
          {share}};
    case Verdict::kBalanced:
      return {"Balanced: the consumer waits {} of the time; {} limits the pipeline to {}.",
              {share, binding, rate}};
    case Verdict::kUnknown:
      return {"Unknown consumer: {} limits the pipeline itself to {}.", {binding, rate}};
  }
  return {};
}

Sentence observed_sentence(const Pipeline& pipeline, const Analysis& analysis) {
  const std::pair<Unit, Value> rate{Unit::kPerSecond, value_of(analysis.rate.observed_per_s)};
  const std::pair<Unit, Value> elapsed{Unit::kSeconds, analysis.elapsed_s};
  const std::pair<Unit, Value> elements{Unit::kCount, analysis.root_elements};
  std::string pattern = "Traced: {} elements in {}, {}";
  std::vector<std::pair<Unit, Value>> values{elements, elapsed, rate};
  if (analysis.rate.ci95_per_s) {
    const auto [low, high] = *analysis.rate.ci95_per_s;
    pattern += " (95 % interval {})";
    values.push_back({Unit::kPerSecond, std::vector<double>{low, high}});
  }
  if (analysis.cores > 0) {
    pattern += " on {} cores";
    values.push_back({Unit::kCount, analysis.cores});
  }
  pattern += pipeline.consumer.bare ? "; only the recorder pulled, as fast as it could." : ".";
  return {pattern, values};
}

Prose headline(const Pipeline& pipeline, const Analysis& analysis) {
  Prose prose;
  prose.sentences.push_back(verdict_sentence(pipeline, analysis));
  if (bottleneck_of(analysis)) prose.sentences.push_back(observed_sentence(pipeline, analysis));
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
               {"ci95_per_s", "", Unit::kPerSecond, interval}}}});
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
                   {"", "of traced", Unit::kNone},
                   {"", "because of", Unit::kNone, true}};
  table.shown = 5;
  for (const Bound& bound : analysis.bounds) {
    Value factor;
    if (const auto& observed = analysis.rate.observed_per_s; observed && *observed > 0) {
      factor = bound.bound_per_s / *observed;
    }
    table.rows.push_back({{word_of(bound.kind), names_of(pipeline, bound.nodes), bound.bound_per_s,
                           factor, binding_of(pipeline, bound)},
                          table.rows.empty()});
  }
  return {"bounds", "What limits the rate, lowest first", table};
}

std::string notes_of(const Pipeline& pipeline, const Analysis& analysis, NodeId id) {
  const NodeAnalysis& node = analysis.nodes[id];
  std::string notes;
  const auto add = [&notes](bool holds, const char* word) {
    if (holds) notes += (notes.empty() ? "" : ", ") + std::string(word);
  };
  add(limits(analysis, id), "limits");
  add(node.below_cache, "below cache");
  add(node.cache.legal && node.materialized_bytes.has_value(), "cacheable");
  const auto& function = pipeline[id].function;
  add(function && !function->facts.random.empty(), "random");
  add(function && !function->facts.python.empty(), "python");
  add(!pipeline[id].aligned && pipeline.dialect != Dialect::kNone, "no counters");
  return notes;
}

std::string parallelism_text(const NodeAnalysis& node) {
  if (!node.parallelism) return "A";
  return (node.autotuned ? "A " : "") + fmt::format("{:g}", *node.parallelism);
}

Value per_epoch(const Cardinality& cardinality) {
  switch (cardinality.kind) {
    case Cardinality::Kind::kKnown:
      return cardinality.elements;
    case Cardinality::Kind::kInfinite:
      return "infinite";
    case Cardinality::Kind::kUnknown:
      return {};
  }
  return {};
}

std::vector<Column> node_columns() {
  return {{"name", "node", Unit::kNone, true},
          {"op", "", Unit::kNone},
          {"function", "function", Unit::kNone, true},
          {"inputs", "", Unit::kNone},
          {"elements", "", Unit::kCount},
          {"visit_ratio", "per root", Unit::kNone},
          {"calls", "", Unit::kNone},
          {"service_s", "time", Unit::kSeconds},
          {"cpu_s_per_element", "", Unit::kSeconds},
          {"demand_s", "", Unit::kSeconds},
          {"busy_cores", "cores", Unit::kNone},
          {"rate_per_core_per_s", "per core", Unit::kPerSecond},
          {"parallelism", "", Unit::kNone},
          {"", "par", Unit::kNone},
          {"autotuned", "", Unit::kNone},
          {"segment", "", Unit::kNone},
          {"bytes_per_element", "bytes", Unit::kBytes},
          {"disk_bytes", "", Unit::kBytes},
          {"elements_per_epoch", "", Unit::kCount},
          {"materialized_bytes", "cached", Unit::kBytes},
          {"held_bytes", "", Unit::kBytes},
          {"buffer_fill", "", Unit::kNone},
          {"below_cache", "", Unit::kNone},
          {"cache.class", "", Unit::kNone},
          {"cache.legal", "", Unit::kNone},
          {"cache.reason", "", Unit::kNone},
          {"", "notes", Unit::kNone}};
}

Row node_row(const Pipeline& pipeline, const Analysis& analysis, NodeId id) {
  const Node& node = pipeline[id];
  const NodeAnalysis& result = analysis.nodes[id];
  const bool named = node.function && !node.function->source_name.empty();
  return {{node.name,
           node.op,
           named ? Value(node.function->source_name) : Value(),
           names_of(pipeline, node.inputs),
           result.elements,
           result.visit_ratio,
           result.calls,
           result.service_s,
           value_of(result.cpu_s_per_element),
           result.demand_s,
           result.busy_cores,
           value_of(result.rate_per_core_per_s),
           value_of(result.parallelism),
           parallelism_text(result),
           result.autotuned,
           static_cast<double>(result.segment),
           result.bytes_per_element,
           result.disk_bytes,
           per_epoch(result.elements_per_epoch),
           value_of(result.materialized_bytes),
           result.held_bytes,
           value_of(result.buffer_fill),
           result.below_cache,
           word_of(result.cache.cache_class),
           result.cache.legal,
           result.cache.reason,
           notes_of(pipeline, analysis, id)},
          limits(analysis, id)};
}

Section nodes_section(const Pipeline& pipeline, const Analysis& analysis) {
  Table table;
  table.columns = node_columns();
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    table.rows.push_back(node_row(pipeline, analysis, NodeId{static_cast<std::int32_t>(i)}));
  }
  return {"nodes",
          "Nodes, source first (time and bytes of one element; par: calls at once, A by AUTOTUNE)",
          table};
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
  return {"findings", "Advice", table};
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
  report.sections.push_back(nodes_section(pipeline, analysis));
  report.sections.push_back(
      {"memory", "", Fields{{{"held_bytes", "", Unit::kBytes, analysis.memory.held_bytes}}}});
  report.sections.push_back(memory_items(analysis.memory.items, "Memory that the pipeline holds"));
  report.sections.push_back({"unaligned", "",
                             Fields{{{"graph", "", Unit::kNone, pipeline.unaligned.graph},
                                     {"model", "", Unit::kNone, pipeline.unaligned.model}}}});
  report.sections.push_back(findings_section(analysis.findings));
  report.sections.push_back(json_field("warnings", analysis.warnings));
  report.csv_section = "nodes";
  report.graph = graph_of(pipeline, analysis);
  return report;
}

}  // namespace plumber
