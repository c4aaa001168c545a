// SPDX-License-Identifier: Apache-2.0
#include "report/show_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/sections.h"
#include "report/words.h"

namespace plumber {
namespace {

struct Place {
  NodeId node;
  std::size_t depth;
};

// Preorder from the consumer. A chain stays on one level, so that thousands of nodes fit a screen.
std::vector<Place> tree_of(const Pipeline& pipeline) {
  std::vector<Place> order;
  if (pipeline.nodes.empty()) return order;
  std::vector<bool> seen(pipeline.size());
  std::vector<Place> open{{pipeline.root, 0}};
  while (!open.empty()) {
    const Place place = open.back();
    open.pop_back();
    if (seen[index_of(place.node)]) continue;
    seen[index_of(place.node)] = true;
    order.push_back(place);
    const Node& node = pipeline[place.node];
    const std::size_t input_depth = place.depth + (node.inputs.size() > 1 ? 1 : 0);
    for (auto i = node.inputs.rbegin(); i != node.inputs.rend(); ++i)
      open.push_back({*i, input_depth});
    for (auto i = node.inner.rbegin(); i != node.inner.rend(); ++i) {
      open.push_back({*i, place.depth + 1});
    }
  }
  return order;
}

// The name inside its function: the outer node's name stands one level up already.
std::string short_name(const Node& node) {
  return node.outer ? node.name.substr(node.name.rfind('>') + 1) : node.name;
}

std::string amount(const std::optional<std::int64_t>& value) {
  return *value == kAutotune ? "AUTOTUNE" : fmt::format("{}", *value);
}

std::string count_of(const Node& node) {
  const bool batch = node.kind == Kind::kBatch || node.kind == Kind::kMapBatch;
  if (batch) return fmt::format("batch {}", *node.count);
  if (*node.count < 0) return "for ever";
  return fmt::format("count {}", *node.count);
}

std::string settings_of(const Node& node) {
  std::string text;
  const auto add = [&text](const std::string& setting) {
    text += (text.empty() ? "" : ", ") + setting;
  };
  if (node.parallelism) add("parallel " + amount(node.parallelism));
  if (node.cycle_length) add("cycle " + amount(node.cycle_length));
  if (node.block_length && *node.block_length != 1) add("block " + amount(node.block_length));
  if (node.buffer_size) add("buffer " + amount(node.buffer_size));
  if (node.count) add(count_of(node));
  if (!node.cache_file.empty()) add("file " + node.cache_file);
  if (!node.file_names.empty()) add(fmt::format("{} files", node.file_names.size()));
  if (node.source_elements) add(fmt::format("{} elements", *node.source_elements));
  if (!node.deterministic) add("order free");
  if (!node.inter_op) add("inline");
  if (node.own_threads) add("threads of its own");
  return text;
}

Value number_of(const std::optional<std::int64_t>& value) {
  return value ? Value(static_cast<double>(*value)) : Value();
}

std::vector<ReportColumn> node_columns() {
  return {{"name", "", Unit::kNone},
          {"", "node", Unit::kNone, true},
          {"op", "", Unit::kNone},
          {"function", "function", Unit::kNone, true},
          {"inputs", "", Unit::kNone},
          {"inner", "", Unit::kNone},
          {"", "settings", Unit::kNone, true},
          {"parallelism", "", Unit::kNone},
          {"buffer_size", "", Unit::kNone},
          {"count", "", Unit::kNone},
          {"cycle_length", "", Unit::kNone},
          {"block_length", "", Unit::kNone},
          {"deterministic", "", Unit::kNone},
          {"traced_parallelism", "", Unit::kNone},
          {"traced_buffer_size", "", Unit::kNone},
          {"aligned", "", Unit::kNone},
          {"elements", "elements", Unit::kCount},
          {"service_s", "time", Unit::kSeconds},
          {"cpu_s", "", Unit::kSeconds},
          {"bytes_produced", "bytes", Unit::kBytes},
          {"disk_bytes", "", Unit::kBytes}};
}

ReportRow node_row(const Pipeline& pipeline, const Place& place) {
  const Node& node = pipeline[place.node];
  const bool has_counters = !pipeline.dumps.empty() && node.aligned;
  const Counters counters = has_counters ? pipeline.dumps.back().counters[place.node] : Counters{};
  const auto counted = [&](double value) { return has_counters ? Value(value) : Value(); };
  const bool opstats = pipeline.dialect == Dialect::kOpstats;
  const bool named = node.function && !node.function->source_name.empty();
  return {{node.name,
           std::string(2 * place.depth, ' ') + short_name(node),
           node.op,
           named ? Value(node.function->source_name) : Value(),
           names_of(pipeline, node.inputs),
           names_of(pipeline, node.inner),
           settings_of(node),
           number_of(node.parallelism),
           number_of(node.buffer_size),
           number_of(node.count),
           number_of(node.cycle_length),
           number_of(node.block_length),
           node.deterministic,
           value_of(node.traced_parallelism),
           value_of(node.traced_buffer_size),
           node.aligned,
           counted(counters.elements),
           counted(counters.service_s),
           opstats ? counted(counters.cpu_s) : Value(),
           counted(counters.bytes_produced),
           opstats ? counted(counters.disk_bytes) : Value()},
          false};
}

Section nodes_section(const Pipeline& pipeline) {
  Table table;
  table.columns = node_columns();
  for (const Place& place : tree_of(pipeline)) table.rows.push_back(node_row(pipeline, place));
  return {"nodes", "Program, consumer first (counters of the whole trace)", table};
}

struct Use {
  const Function* function;
  std::vector<std::string> nodes;
};

// Every function once, in the order of the nodes that call it.
std::vector<Use> uses_of(const Pipeline& pipeline) {
  std::vector<Use> uses;
  std::map<std::string, std::size_t> places;
  const auto add = [&](const Function& function, const Node& node) {
    const auto [place, fresh] = places.emplace(function.name, uses.size());
    if (fresh) uses.push_back({&function, {}});
    uses[place->second].nodes.push_back(node.name);
  };
  for (const Node& node : pipeline.nodes) {
    if (node.function) add(*node.function, node);
    for (const Function& function : node.other_functions) add(function, node);
  }
  return uses;
}

std::string facts_of(const FunctionFacts& facts) {
  std::string text = fmt::format("{} ops", facts.ops);
  const auto add = [&text](const char* word, const std::vector<std::string>& ops) {
    if (!ops.empty()) text += fmt::format("; {}: {}", word, fmt::join(ops, ", "));
  };
  add("random", facts.random);
  add("stateful", facts.stateful);
  add("Python", facts.python);
  add("control flow", facts.control_flow);
  add("shards over the intra-op pool", facts.sharding);
  add("missing", facts.missing);
  if (facts.recursive) text += "; calls itself";
  if (facts.short_circuit) text += "; only passes its inputs on";
  return text;
}

Section functions_section(const Pipeline& pipeline) {
  Table table;
  table.layout = Layout::kItems;
  table.columns = {{"name", "", Unit::kNone},         {"source_name", "", Unit::kNone},
                   {"", "function", Unit::kNone},     {"", "facts", Unit::kNone},
                   {"nodes", "used by", Unit::kNone}, {"ops", "", Unit::kCount},
                   {"random", "", Unit::kNone},       {"stateful", "", Unit::kNone},
                   {"python", "", Unit::kNone},       {"control_flow", "", Unit::kNone},
                   {"sharding", "", Unit::kNone},     {"missing", "", Unit::kNone},
                   {"recursive", "", Unit::kNone},    {"short_circuit", "", Unit::kNone}};
  table.shown = 20;
  for (const Use& use : uses_of(pipeline)) {
    const FunctionFacts& facts = use.function->facts;
    const std::string& source_name = use.function->source_name;
    table.rows.push_back(
        {{use.function->name, source_name, source_name.empty() ? use.function->name : source_name,
          facts_of(facts), use.nodes, static_cast<double>(facts.ops), facts.random, facts.stateful,
          facts.python, facts.control_flow, facts.sharding, facts.missing, facts.recursive,
          facts.short_circuit},
         false});
  }
  return {"functions", "Functions", table};
}

Section dumps_section(const Pipeline& pipeline) {
  Table table;
  table.columns = {{"time_s", "after", Unit::kSeconds},
                   {"root_elements", "root elements", Unit::kCount},
                   {"process_cpu_s", "process CPU", Unit::kSeconds}};
  table.shown = 10;
  for (const PipelineDump& dump : pipeline.dumps) {
    table.rows.push_back({{dump.time_s, dump.root_elements, dump.process_cpu_s}, false});
  }
  return {"dumps", "Dumps", table};
}

Section machine_section(const TraceMachine& machine) {
  const auto known = [](double value) { return value > 0 ? Value(value) : Value(); };
  return {"machine", "Machine",
          Fields{{{"cores", "cores", Unit::kCount, known(machine.cores)},
                  {"memory_total_bytes", "memory", Unit::kBytes, known(machine.memory_total_bytes)},
                  {"memory_free_bytes", "free", Unit::kBytes, known(machine.memory_free_bytes)}}}};
}

Section recorder_section(const std::optional<Recorder>& recorder) {
  if (!recorder) return json_field("recorder", {});
  const auto known = [](double value) { return value > 0 ? Value(value) : Value(); };
  return {
      "recorder", "Recorder",
      Fields{{{"tensorflow_version", "TensorFlow", Unit::kNone, recorder->tensorflow_version},
              {"mode", "mode", Unit::kNone, recorder->mode},
              {"polling_interval_s", "polled every", Unit::kSeconds,
               known(recorder->polling_interval_s)},
              {"pipeline_cpu_s", "pipeline's CPU", Unit::kSeconds, known(recorder->pipeline_cpu_s)},
              {"calibrated", "calibrated", Unit::kNone, recorder->calibration.has_value()},
              {"element_spec", "element spec", Unit::kNone, recorder->element_spec}}}};
}

double total_bytes(const std::map<std::string, double>& files) {
  double bytes = 0;
  for (const auto& [name, size] : files) bytes += size;
  return bytes;
}

Section trace_section(const Trace& trace, const Pipeline& pipeline) {
  const PipelineDump last = pipeline.dumps.empty() ? PipelineDump{} : pipeline.dumps.back();
  const double files = static_cast<double>(trace.file_bytes.size());
  return {"trace", "Trace",
          Fields{{{"name", "name", Unit::kNone, trace.name},
                  {"dialect", "dialect", Unit::kNone, word_of(trace.dialect)},
                  {"elapsed_s", "elapsed", Unit::kSeconds, last.time_s},
                  {"root_elements", "root elements", Unit::kCount, last.root_elements},
                  {"source_files", "source files", Unit::kCount, files},
                  {"source_bytes", files > 0 ? "their size" : "", Unit::kBytes,
                   total_bytes(trace.file_bytes)},
                  {"graph_fingerprint", "fingerprint", Unit::kNone, pipeline.graph_fingerprint}}}};
}

Section unaligned_section(const Unaligned& unaligned) {
  const bool any = !unaligned.graph.empty() || !unaligned.model.empty();
  return {"unaligned", any ? "Not matched to each other" : "",
          Fields{{{"graph", "nodes without counters", Unit::kNone, unaligned.graph},
                  {"model", "counters without a node", Unit::kNone, unaligned.model}}}};
}

}  // namespace

Report show_view(const Trace& trace, const Pipeline& pipeline) {
  Report report;
  report.sections = {json_field("schema_version", 1.0),
                     trace_section(trace, pipeline),
                     machine_section(pipeline.machine),
                     recorder_section(pipeline.recorder),
                     nodes_section(pipeline),
                     functions_section(pipeline),
                     dumps_section(pipeline),
                     unaligned_section(pipeline.unaligned),
                     json_field("warnings", pipeline.warnings)};
  report.csv_section = "nodes";
  report.graph = pipeline_graph(pipeline);
  return report;
}

}  // namespace plumber
