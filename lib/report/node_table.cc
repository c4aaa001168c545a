// SPDX-License-Identifier: Apache-2.0
#include "report/node_table.h"

#include <fmt/format.h>

#include "report/words.h"

namespace plumber {
namespace {

constexpr const char* kNodesLegend =
    "per root: elements for each element of the consumer; time, bytes: of one element; cores: kept "
    "busy; per core: rate if one core did this alone; par: calls at once, A by AUTOTUNE; "
    "cache: size of one after the node, where one may stand; >: in the function of the next node";

// The node with the largest share of the bottleneck.
bool leads(const Analysis& analysis, NodeId node) {
  if (analysis.bounds.empty()) return false;
  const Bound& bound = analysis.bounds.front();
  return bound.kind != BoundKind::kConsumer && !bound.nodes.empty() && bound.nodes.front() == node;
}

std::string notes_of(const Pipeline& pipeline, const Analysis& analysis, NodeId id) {
  std::string notes;
  const auto add = [&notes](bool holds, const char* word) {
    if (holds) notes += (notes.empty() ? "" : ", ") + std::string(word);
  };
  add(leads(analysis, id), "limits");
  add(analysis.nodes[id].below_cache, "below cache");
  const auto& function = pipeline[id].function;
  add(function && !function->facts.python.empty(), "python");
  add(pipeline.dialect != Dialect::kNone && lacks_counters(pipeline[id]), "no counters");
  return notes;
}

// "> TFRecordDataset": one sign for each function that the node is inside of.
std::string nested_name(const std::string& name) {
  std::string signs;
  for (const char c : name) signs += c == '>' ? ">" : "";
  return signs.empty() ? name : signs + " " + name.substr(name.rfind('>') + 1);
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

std::vector<ReportColumn> node_columns() {
  return {{"name", "", Unit::kNone},
          {"", "node", Unit::kNone, true, "Dataset"},
          {"op", "", Unit::kNone},
          {"function", "function", Unit::kNone, true},
          {"inputs", "", Unit::kNone},
          {"elements", "", Unit::kCount},
          {"visit_ratio", "per root", Unit::kNone},
          {"calls", "", Unit::kNone},
          {"service_s", "time", Unit::kSeconds},
          {"cpu_s_per_element", "", Unit::kSeconds},
          {"cpu_basis", "", Unit::kNone},
          {"demand_s", "", Unit::kSeconds},
          {"busy_cores", "cores", Unit::kCores},
          {"rate_per_core_per_s", "per core", Unit::kPerSecond},
          {"parallelism", "", Unit::kNone},
          {"", "par", Unit::kNone},
          {"autotuned", "", Unit::kNone},
          {"segment", "", Unit::kNone},
          {"bytes_per_element", "bytes", Unit::kBytes},
          {"disk_bytes", "", Unit::kBytes},
          {"elements_per_epoch", "", Unit::kCount},
          {"elements_error", "", Unit::kNone},
          {"materialized_bytes", "", Unit::kBytes},
          {"materialized_error_bytes", "", Unit::kBytes},
          {"", "cache", Unit::kBytes},
          {"held_bytes", "", Unit::kBytes},
          {"buffer_fill", "", Unit::kNone},
          {"below_cache", "", Unit::kNone},
          {"cache.class", "", Unit::kNone},
          {"cache.legal", "", Unit::kNone},
          {"cache.reason", "", Unit::kNone},
          {"", "notes", Unit::kNone}};
}

ReportRow node_row(const Pipeline& pipeline, const Analysis& analysis, NodeId id) {
  const Node& node = pipeline[id];
  const NodeAnalysis& result = analysis.nodes[id];
  const bool lacks = lacks_counters(node);
  const auto known = [&](double value) { return lacks && value <= 0 ? Value() : Value(value); };
  const bool named = node.function && !node.function->source_name.empty();
  return {{node.name,
           nested_name(node.name),
           node.op,
           named ? Value(node.function->source_name) : Value(),
           names_of(pipeline, node.inputs),
           result.elements,
           result.visit_ratio,
           result.calls,
           known(result.service_s),
           lacks ? Value() : value_of(result.cpu_s_per_element),
           word_of(lacks ? CpuBasis::kUnknown : result.cpu_basis),
           known(result.demand_s),
           known(result.busy_cores),
           value_of(result.rate_per_core_per_s),
           value_of(result.parallelism),
           parallelism_text(result),
           result.autotuned,
           static_cast<double>(result.segment),
           known(result.bytes_per_element),
           result.disk_bytes,
           per_epoch(result.elements_per_epoch),
           value_of(result.elements_error),
           value_of(result.materialized_bytes),
           value_of(result.materialized_error_bytes),
           result.cache.legal ? value_of(result.materialized_bytes) : Value(),
           result.held_bytes,
           value_of(result.buffer_fill),
           result.below_cache,
           word_of(result.cache.cache_class),
           result.cache.legal,
           result.cache.reason,
           notes_of(pipeline, analysis, id)},
          leads(analysis, id),
          node.kind == Kind::kWrapper};
}

}  // namespace

bool lacks_counters(const Node& node) { return !node.aligned && node.kind != Kind::kWrapper; }

Section node_table(const Pipeline& pipeline, const Analysis& analysis) {
  Table table;
  table.columns = node_columns();
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    table.rows.push_back(node_row(pipeline, analysis, NodeId{static_cast<std::int32_t>(i)}));
  }
  return {"nodes", "Nodes, source first", table, {kNodesLegend, {}}};
}

}  // namespace plumber
