// SPDX-License-Identifier: Apache-2.0
// Program -> nodes: a walk from the root over dataset inputs and into the functions that make data
// sets. The walk over inputs keeps its own stack, so chains of any length work; functions nest only
// as deep as kMostNesting.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "pipeline/align.h"
#include "pipeline/batch_form.h"
#include "pipeline/fingerprint.h"
#include "pipeline/frozen_state.h"
#include "pipeline/function_facts.h"
#include "pipeline/graph_scope.h"
#include "pipeline/large_constants.h"
#include "pipeline/node_attributes.h"
#include "pipeline/program_options.h"
#include "pipeline/seed_generators.h"

namespace plumber {
namespace {

using tensorflow::FunctionDef;
using tensorflow::GraphDef;
using tensorflow::NodeDef;

constexpr std::size_t kMostNesting = 32;
constexpr std::size_t kMostNodes = 100'000;

struct Place;

// A data set that a function captures: a node of the scope around it.
struct Captured {
  const NodeDef* def;
  const Place* place;
};

// One scope under construction.
struct Place {
  const GraphScope& scope;
  std::string prefix;                                          // "" or "OUTER>"
  std::vector<std::string> open;                               // functions that we are inside of
  std::map<std::string, Captured, std::less<>> captured = {};  // by the argument's name
};

class Builder {
 public:
  Builder(const Trace& trace, Pipeline& pipeline)
      : trace_(trace), pipeline_(pipeline), functions_(trace.graph->library()) {}

  void run() {
    const GraphScope scope(trace_.name, trace_.graph->node());
    const Place place{scope, "", {}};
    pipeline_.root = walk({&root(scope), &place});
  }

 private:
  struct Visit {
    Captured at;
    std::vector<Captured> inputs;
    std::size_t next = 0;
  };

  const NodeDef& root(const GraphScope& scope) const {
    const NodeDef* retval = nullptr;
    for (const NodeDef& node : trace_.graph->node())
      if (node.op() == "_Retval" && !retval) retval = &node;
    const NodeDef* found = retval ? scope.input(*retval, 0) : nullptr;
    if (!found)
      throw Error(ErrorKind::kInput, trace_.name,
                  "the program has no root: no _Retval node that returns a data set",
                  "a program is what DatasetToGraphV2 returns; record the trace again");
    return *found;
  }

  // How many inputs may be data sets; an unknown op's are told by their type alone.
  static std::int64_t most_dataset_inputs(const NodeDef& def) {
    const OpTraits& traits = op_traits(def.op());
    if (traits.op.empty()) return def.input_size();
    if (traits.dataset_inputs >= 0) return traits.dataset_inputs;
    const auto n = def.attr().find("N");
    if (n == def.attr().end()) return def.input_size();
    return n->second.i() + (traits.dataset_inputs == kInputs1N ? 1 : 0);
  }

  // The data set behind an input or a returned value, captured ones included.
  static std::optional<Captured> dataset_behind(const Place& place, const std::string& value) {
    if (const NodeDef* def = place.scope.producer(value))
      return is_dataset_op(def->op()) ? std::optional(Captured{def, &place}) : std::nullopt;
    const auto captured = place.captured.find(place.scope.argument(value));
    return captured == place.captured.end() ? std::nullopt : std::optional(captured->second);
  }

  // A data set that a function captures stands among the inputs, too, but behind the op's own.
  std::vector<Captured> dataset_inputs(const Place& place, const NodeDef& def) {
    const std::int64_t own = most_dataset_inputs(def);
    std::vector<Captured> found;
    for (int i = 0; i < def.input_size(); ++i) {
      const auto producer = producer_of(def.input(i));
      const auto input = dataset_behind(place, def.input(i));
      if (i < own && input) found.push_back(*input);
      if (place.open.empty() && !producer.empty() && !place.scope.find(producer))
        warn(fmt::format("input '{}' of node '{}' is not in the program", producer, def.name()));
    }
    return found;
  }

  // Nodes of one scope that `root` reaches, inputs first. Returns the root's id.
  NodeId walk(const Captured& root) {
    std::unordered_map<const NodeDef*, std::optional<NodeId>> seen;  // nullopt: still open
    std::vector<Visit> stack;
    const auto enter = [&](const Captured& at) {
      seen.emplace(at.def, std::nullopt);
      stack.push_back({at, dataset_inputs(*at.place, *at.def), 0});
    };
    enter(root);
    while (true) {
      Visit& top = stack.back();
      if (top.next < top.inputs.size()) {
        const Captured input = top.inputs[top.next++];
        const auto known = seen.find(input.def);
        if (known == seen.end())
          enter(input);
        else if (!known->second)
          refuse_cycle(*input.place, *input.def);
        continue;
      }
      std::vector<NodeId> inputs;
      for (const Captured& input : top.inputs) inputs.push_back(*seen[input.def]);
      const NodeId id = add_node(*top.at.place, *top.at.def, std::move(inputs));
      seen[top.at.def] = id;
      stack.pop_back();
      if (stack.empty()) return id;
    }
  }

  [[noreturn]] void refuse_cycle(const Place& place, const NodeDef& def) const {
    throw Error(ErrorKind::kInput,
                fmt::format("{}: node '{}{}'", trace_.name, place.prefix, def.name()),
                "the program has a cycle: the node reads its own output",
                "the program is damaged; record the trace again");
  }

  NodeId add_node(const Place& place, const NodeDef& def, std::vector<NodeId> inputs) {
    if (pipeline_.nodes.size() >= kMostNodes)
      throw Error(ErrorKind::kInput, trace_.name, "the program has more than 100,000 dataset nodes",
                  "its functions probably call each other in a widening circle");
    Node node;
    node.name = place.prefix + def.name();
    read_attributes(place.scope, def, node);
    if (op_traits(def.op()).op.empty())
      warn(fmt::format("{}: the op {} is not known; its counters stand for themselves", node.name,
                       def.op()));
    const bool batches = node.kind == Kind::kBatch || node.kind == Kind::kMapBatch;
    const bool measured = !node.count && !trace_.dumps.empty();  // chosen while it runs: buckets
    if (batches && !measured && node.count.value_or(0) <= 0)
      warn(fmt::format("{}: its batch size is no constant above 0; it is taken for 1", node.name));
    node.equal_shapes = element_ranks(def).has_value();
    node.equal_rows = node.kind == Kind::kMapBatch && row_ranks(def).has_value();
    node.plain_tensors = holds_plain_tensors(def);
    node.inputs = std::move(inputs);
    read_functions(place, def, node);
    const auto id = static_cast<NodeId>(pipeline_.nodes.size());
    for (const NodeId inner : node.inner) pipeline_[inner].outer = id;
    pipeline_.nodes.push_back(std::move(node));
    return id;
  }

  void read_functions(const Place& place, const NodeDef& def, Node& node) {
    const std::string_view main = op_traits(def.op()).function;
    std::map<std::string, const tensorflow::AttrValue*> by_name;
    for (const auto& [name, value] : def.attr()) by_name[name] = &value;
    for (const auto& [name, value] : by_name) {
      std::vector<std::string> called;
      if (value->value_case() == tensorflow::AttrValue::kFunc)
        called.push_back(value->func().name());
      for (const auto& function : value->list().func()) called.push_back(function.name());
      for (const std::string& function : called) {
        Function read{function, source_name(function), facts(function)};
        const bool maps = node.kind == Kind::kMap || node.kind == Kind::kMapBatch;
        if (name == main && maps && def.input_size() > 0)
          read.why_not_batched = why_not_batched(function, place.scope.producer(def.input(0)));
        if (name == main && !node.function)
          node.function = std::move(read);
        else
          node.other_functions.push_back(std::move(read));
        add_inner(place, def, function, node);
      }
    }
  }

  const FunctionFacts& facts(const std::string& function) {
    const auto known = facts_.find(function);
    if (known != facts_.end()) return known->second;
    const FunctionFacts& read = facts_[function] = function_facts(functions_, function);
    if (read.recursive)
      warn(fmt::format("function '{}' calls itself; its calls are counted once", function));
    return read;
  }

  std::string why_not_batched(const std::string& function, const NodeDef* input) {
    const FunctionDef* def = functions_.find(function);
    const auto ranks = input ? element_ranks(*input) : std::nullopt;
    if (!def) return "its body is not in the program";
    if (!ranks) return "the shapes of its input's elements are not known in full";
    const auto [known, is_new] = batched_.try_emplace({function, *ranks});
    if (is_new) known->second = why_no_batch_form(*def, *ranks);
    return known->second;
  }

  // Data sets among the last arguments of a function, which are what it captures: they stand right
  // behind the op's own inputs. Their scope is the one around, under the function's prefix.
  // Returns the places that `inside` then refers to.
  static std::vector<std::unique_ptr<Place>> capture(const Place& place, const NodeDef& def,
                                                     const FunctionDef& function, Place& inside) {
    std::vector<std::unique_ptr<Place>> outside;
    const auto types = def.attr().find("Targuments");
    if (types == def.attr().end()) return outside;
    const int count = types->second.list().type_size();
    const int own = static_cast<int>(most_dataset_inputs(def));
    const int arguments = function.signature().input_arg_size();
    if (count > arguments || own + count > def.input_size()) return outside;
    for (int i = 0; i < count; ++i) {
      const auto found = dataset_behind(place, def.input(own + i));
      if (!found) continue;
      outside.push_back(std::make_unique<Place>(
          Place{found->place->scope, inside.prefix, inside.open, found->place->captured}));
      inside.captured[function.signature().input_arg(arguments - count + i).name()] =
          Captured{found->def, outside.back().get()};
    }
    return outside;
  }

  // What a function captures is made anew within it, under its name.
  void add_inner(const Place& place, const NodeDef& node_def, const std::string& function,
                 Node& node) {
    const FunctionDef* def = functions_.find(function);
    if (!def) return;
    const bool recursive =
        std::find(place.open.begin(), place.open.end(), function) != place.open.end();
    if (recursive || place.open.size() >= kMostNesting) {
      warn(fmt::format("function '{}' makes a data set of itself; it is not followed further",
                       function));
      return;
    }
    const GraphScope& scope = scope_of(function, *def);
    Place inside{scope, node.name + ">", place.open};
    inside.open.push_back(function);
    const auto outside = capture(place, node_def, *def, inside);
    std::map<std::string, std::string> returns(def->ret().begin(), def->ret().end());
    for (const auto& [output, value] : returns)
      if (const auto root = dataset_behind(inside, value)) node.inner.push_back(walk(*root));
  }

  // A function may be entered from thousands of places.
  const GraphScope& scope_of(const std::string& function, const FunctionDef& def) {
    std::unique_ptr<GraphScope>& scope = scopes_[function];
    if (!scope)
      scope = std::make_unique<GraphScope>(trace_.name + ": function '" + function + "'",
                                           def.node_def());
    return *scope;
  }

  void warn(const std::string& text) {
    if (warned_.insert(text).second) pipeline_.warnings.push_back(text);
  }

  const Trace& trace_;
  Pipeline& pipeline_;
  FunctionIndex functions_;
  std::unordered_map<std::string, FunctionFacts> facts_;
  std::unordered_map<std::string, std::unique_ptr<GraphScope>> scopes_;
  std::map<std::pair<std::string, std::vector<int>>, std::string> batched_;
  std::set<std::string> warned_;
};

void set_outer_of_inner_chains(Pipeline& pipeline) {
  // The inner roots know their outer node; what feeds them lives in the same function.
  for (std::size_t i = pipeline.size(); i-- > 0;) {
    const Node& node = pipeline.nodes[i];
    if (!node.outer) continue;
    for (const NodeId input : node.inputs) pipeline[input].outer = node.outer;
  }
}

// Below 2 ms a think time without our recorder's word is the recorder's own loop.
constexpr double kRecorderLoop_s = 2e-3;

Consumer consumer_of(const Trace& trace) {
  Consumer consumer;
  if (trace.dumps.empty()) return consumer;
  const Dump& last = trace.dumps.back();
  consumer.think_time_s = last.think_time_s;
  if (const auto& gaps = last.model.gap_times_s; !gaps.empty()) {
    double sum_s = 0;
    for (const double gap : gaps) sum_s += gap;
    consumer.think_time_s = sum_s / static_cast<double>(gaps.size());
  }
  if (trace.recorder && !trace.recorder->mode.empty())
    consumer.bare = trace.recorder->mode == "bare";
  else
    consumer.bare = consumer.think_time_s.value_or(0) < kRecorderLoop_s;
  return consumer;
}

}  // namespace

Pipeline build_pipeline(const Trace& trace) {
  Pipeline pipeline;
  pipeline.name = trace.name;
  pipeline.dialect = trace.dialect;
  pipeline.machine = trace.machine;
  pipeline.recorder = trace.recorder;
  pipeline.file_bytes = trace.file_bytes;
  pipeline.file_bytes_are_completed_only = trace.file_bytes_are_completed_only;
  pipeline.warnings = trace.warnings;
  pipeline.consumer = consumer_of(trace);
  pipeline.recorder_options = recorder_options(trace);
  pipeline.options = program_options(*trace.graph, !pipeline.recorder_options.empty());
  Builder(trace, pipeline).run();
  pipeline.graph_fingerprint = graph_fingerprint(*trace.graph);
  pipeline.large_constants = large_constants(*trace.graph);
  set_outer_of_inner_chains(pipeline);
  apply_determinism(*trace.graph, pipeline);
  for (const std::string& frozen : frozen_state(*trace.graph, pipeline))
    pipeline.warnings.push_back(frozen);
  for (const std::string& twins : shared_seed_generators(*trace.graph))
    pipeline.warnings.push_back(twins);
  align_counters(trace, pipeline);
  return pipeline;
}

std::optional<NodeId> find_node(const Pipeline& pipeline, const std::string& name) {
  for (std::size_t i = 0; i < pipeline.size(); ++i)
    if (pipeline.nodes[i].name == name) return static_cast<NodeId>(i);
  return std::nullopt;
}

}  // namespace plumber
