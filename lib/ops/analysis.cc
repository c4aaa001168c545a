// SPDX-License-Identifier: Apache-2.0
#include "ops/analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "ops/cache_class.h"
#include "ops/cardinality.h"
#include "ops/counter_window.h"
#include "ops/demands.h"
#include "ops/file_records.h"
#include "ops/findings.h"
#include "ops/hand_off_fit.h"
#include "ops/inline_probe.h"
#include "ops/laws.h"
#include "ops/memory_ledger.h"
#include "ops/size_error.h"
#include "ops/take_waste.h"
#include "ops/visit_ratios.h"

namespace plumber {
namespace {

// An empty next() in Python, by the number of tensors of an element; a calibration wins.
constexpr double kNextOneTensor_s = 45e-6;
constexpr double kNextManyTensors_s = 110e-6;

constexpr double kTolerance = 0.1;
constexpr double kEndless = 1e15;  // elements
constexpr double kConsumerBound = 0.10, kBalanced = 0.25;

// An empty next() was part of each period of a bare trace: it took no longer than that.
double think_time_s(const Pipeline& p, const AnalysisOptions& options, const Rate& rate) {
  if (options.think_time_s) return *options.think_time_s;
  if (!p.consumer.bare) return p.consumer.think_time_s.value_or(0);
  if (p.recorder && p.recorder->calibration && p.recorder->calibration->next_s > 0)
    return p.recorder->calibration->next_s;
  const double next_s = p[p.root].components > 1 ? kNextManyTensors_s : kNextOneTensor_s;
  const double most_per_s = rate.observed_per_s.value_or(0);
  return p.recorder && most_per_s > 0 ? std::min(next_s, 1 / most_per_s) : next_s;
}

bool knows_think_time(const Pipeline& p, const AnalysisOptions& options) {
  return options.think_time_s || p.consumer.think_time_s || p.consumer.bare;
}

void judge_consumer(const Pipeline& p, const AnalysisOptions& options, Analysis& a) {
  if (!a.rate.observed_per_s || *a.rate.observed_per_s <= 0 || !knows_think_time(p, options))
    return;
  // What starting the next epoch takes is nobody's waiting for an element.
  const double epochs_s = a.rate.epoch_start_s.value_or(0) * p.dumps.back().epochs;
  const double period_s = 1 / *a.rate.observed_per_s - epochs_s / a.root_elements;
  const double think_s = a.costs.think_time_s;
  const double wait = std::clamp(1 - think_s / period_s, 0.0, 1.0);
  a.consumer.think_time_s = think_s;
  a.consumer.next_latency_s = std::max(0.0, period_s - think_s);
  a.consumer.wait_share = wait;
  a.verdict = wait <= kConsumerBound ? Verdict::kConsumerBound
              : wait <= kBalanced    ? Verdict::kBalanced
                                     : Verdict::kInputBound;
}

Machine traced_machine(const Pipeline& p) { return {p.machine.cores}; }

// The probe starts anew: with a cache it ran in another epoch than the trace.
void correct(const Pipeline& p, const CounterWindow& w, Analysis& a) {
  const auto is_cache = [](const Node& node) { return node.kind == Kind::kCache; };
  if (!p.recorder || std::ranges::any_of(p.nodes, is_cache)) return;
  // The probe runs under the program's own options, the trace always with AUTOTUNE.
  const MeasuredCpu probe{p.recorder->inline_probe_cpu_s, p.machine.cores, p.options.autotune};
  MeasuredCpu trace{0, p.machine.cores, true};
  if (p.consumer.bare && w.root_elements > 0) trace.cpu_s = w.process_cpu_s / w.root_elements;
  if (!add_inline_work(p, probe.cpu_s > 0 ? probe : trace, a.costs))
    correct_by_probe(p, probe, a.costs);
}

void fit(const Pipeline& p, const CounterWindow& w, const PerNode<bool>& filled, Analysis& a) {
  // A single dump mixes the epoch that filled a cache with the later ones: no rate to fit to.
  if (p.dumps.size() == 1 && std::find(filled.begin(), filled.end(), true) != filled.end()) return;
  Observed observed;
  if (a.rate.observed_per_s.value_or(0) > 0) observed.period_s = 1 / *a.rate.observed_per_s;
  const bool bare = p.consumer.bare;
  if (bare && w.root_elements > 0) observed.cpu_s = w.process_cpu_s / w.root_elements;
  observed.think_time_s = p.consumer.think_time_s.value_or(a.costs.think_time_s);
  observed.machine = traced_machine(p);
  lower_legacy_handover(p, a.setting, observed, a.costs);
  // Short epochs spend much of their time on starting the next one, which no node's time holds.
  constexpr double kShortEpoch_s = 1;
  const PipelineDump& last = p.dumps.back();
  if (last.epochs > 0 && last.time_s < kShortEpoch_s * last.epochs) return;
  fit_hand_off(p, a.setting, observed, a.costs);
}

void bound(const Pipeline& p, Analysis& a) {
  const Evaluation now = evaluate(p, a.costs, a.setting, traced_machine(p));
  a.bounds = now.bounds;
  for (std::size_t i = 0; i < p.size(); ++i)
    a.nodes[static_cast<NodeId>(i)].segment = now.segment[static_cast<NodeId>(i)];
}

// Time of a short epoch that its elements do not explain: making iterators, filling buffers, and
// whatever the consumer does between two epochs.
std::optional<double> epoch_start_s(const Pipeline& p, const Analysis& a) {
  constexpr double kShort_s = 1, kLeastShare = 0.3, kFew = 3;
  const PipelineDump& last = p.dumps.back();
  if (last.epochs < kFew || last.root_elements <= 0 || a.bounds.empty()) return std::nullopt;
  const double elements = last.epochs_elements / last.epochs;
  const double epoch_s = elements * last.time_s / last.root_elements;
  const double start_s = epoch_s - elements / a.bounds.front().bound_per_s;
  if (epoch_s > kShort_s || start_s < kLeastShare * epoch_s) return std::nullopt;
  return start_s;
}

void set_trust(const CounterWindow& w, const Demands& d, Analysis& a) {
  if (d.node_time_s > 0 && w.process_cpu_s > 0) a.trust.cpu_ratio = w.process_cpu_s / d.node_time_s;
  if (a.rate.observed_per_s.value_or(0) <= 0) return;
  double root_segment_s = 0;
  for (const NodeAnalysis& node : a.nodes)
    if (node.segment == 0 && !node.below_cache) root_segment_s += node.visit_ratio * node.service_s;
  const double busy_s = 1 / *a.rate.observed_per_s - a.consumer.think_time_s.value_or(0);
  // Behind a prefetch the consumer's thread has no work of its own to compare.
  if (busy_s > 0 && root_segment_s > 0) a.trust.coverage = root_segment_s / busy_s;
}

// Ratios tell the elements of an epoch, and those the shares of a concatenation: two looks suffice.
VisitRatios settled_ratios(const Pipeline& p, const CounterWindow& w) {
  const VisitRatios first = visit_ratios(p, w);
  const auto cardinality = elements_per_epoch(p, first.visits);
  PerNode<std::optional<double>> epoch(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    if (cardinality[n].kind == Cardinality::Kind::kKnown) epoch[n] = cardinality[n].elements;
  }
  return visit_ratios(p, w, &epoch);
}

// The window without the time up to the first element, unless that is when the elements within it
// were made: some ops (group_by_reducer) read all of their input first, and a node on one thread
// cannot have worked longer than the time that passed.
CounterWindow settled_window(const Pipeline& p) {
  CounterWindow window = counter_window(p);
  if (!(window.start_s > 0)) return window;
  const VisitRatios ratios = settled_ratios(p, window);
  const PerNode<NodeAnalysis> nodes = demands(p, window, ratios, filled_caches(p, window)).nodes;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    if (p[n].threading == Threading::kSynchronous && !p[n].outer && !p[n].autotuned &&
        nodes[n].busy_cores > 1 + kTolerance && nodes[n].parallelism == 1)
      return counter_window(p, StartTime::kKept);
  }
  return window;
}

bool reads_files(const Node& node) {
  return node.function && !node.function->facts.file_reads.empty();
}

// A function that opens a file in each call.
void add_bytes_of_calls(const Pipeline& p, NodeId n, const FileRecords& files, Analysis& a) {
  const auto bytes = files.bytes_of_a_named_file(n);
  if (!reads_files(p[n]) || !bytes) return;
  a.nodes[n].disk_bytes = *bytes * a.costs.nodes[n].calls;
  a.costs.nodes[n].disk_bytes = a.nodes[n].disk_bytes;
}

// Dialect model: the bytes that a reader takes from its files, by their sizes (compressed or not).
void add_disk_bytes(const Pipeline& p, Analysis& a) {
  const FileRecords files(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    NodeAnalysis& node = a.nodes[n];
    if (p[n].kind != Kind::kFileSource) {
      add_bytes_of_calls(p, n, files, a);
      continue;
    }
    a.costs.nodes[n].file = files.first_file(n);
    if (node.disk_bytes > 0) continue;
    const auto bytes = files.file_bytes(n);
    if (bytes && node.elements_per_epoch.elements > 0) {
      node.disk_bytes = *bytes / node.elements_per_epoch.elements * node.visit_ratio;
    } else {  // an endless list of files
      node.disk_bytes = files.file_bytes_of_a_record(n).value_or(0) * node.visit_ratio;
    }
    a.costs.nodes[n].disk_bytes = node.disk_bytes;
  }
}

void add_sizes(const Pipeline& p, const VisitRatios& ratios, Analysis& a) {
  const auto cardinality = elements_per_epoch(p, ratios.visits);
  const auto verdicts = cache_verdicts(p, cardinality);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    NodeAnalysis& node = a.nodes[n];
    node.elements_per_epoch = cardinality[n];
    node.cache = verdicts[n];
    node.materialized_bytes = materialized_bytes(cardinality[n], node.bytes_per_element);
  }
  const auto errors = size_errors(p, a.nodes);
  for (std::size_t i = 0; i < p.size(); ++i) {
    NodeAnalysis& node = a.nodes[static_cast<NodeId>(i)];
    const auto& error = errors[static_cast<NodeId>(i)];
    if (!error) continue;
    node.elements_error = error->elements * node.elements_per_epoch.elements;
    if (node.materialized_bytes)
      node.materialized_error_bytes = error->bytes * *node.materialized_bytes;
  }
  add_disk_bytes(p, a);
}

// Takes that end a pass before their input ends.
void note_takes(const Pipeline& p, Analysis& a) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    const double count = static_cast<double>(p[n].count.value_or(0));
    if (p[n].kind != Kind::kTake || count < 1 || p[n].inputs.size() != 1) continue;
    const Cardinality& input = a.nodes[p[n].inputs.front()].elements_per_epoch;
    double& left = a.costs.nodes[n].elements_left;
    if (input.kind == Cardinality::Kind::kKnown) left = std::max(0.0, input.elements - count);
    if (input.kind == Cardinality::Kind::kInfinite) left = kEndless;
  }
  const auto begun = begun_below_takes(p, a.costs, a.setting);
  if (!begun) return;
  // The time of a parallel map is that of all its calls, and was shared among the elements that
  // left it.
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    const double calls_an_element = (*begun)[n].work / (*begun)[n].elements;
    for (double* value : {&a.costs.nodes[n].work_s, &a.costs.nodes[n].cpu_s})
      *value /= calls_an_element;
  }
}

void warn(const Pipeline& p, const CounterWindow& w, bool traced_think_time, Analysis& a) {
  constexpr double kShort_s = 0.5, kFew = 10;
  a.warnings = p.warnings;
  const auto add = [&](std::string text) { a.warnings.push_back(std::move(text)); };
  if (p.dumps.empty()) {
    add("the trace has no counters: only the program can be judged, not its speed");
    return;
  }
  if (w.elapsed_s <= 0)
    add("no time passed in the trace: rates per second and busy cores are unknown");
  else if (p.dialect == Dialect::kModel && (w.elapsed_s < kShort_s || w.root_elements < kFew))
    add(fmt::format("the trace is short, {} elements in {}: its numbers are rough; 10 s are enough",
                    format_count(w.root_elements), format_seconds(w.elapsed_s)));
  if (w.root_elements <= 0)
    add("the consumer got no element: demands per root element are unknown");
  if (!traced_think_time && a.rate.observed_per_s.value_or(0) * a.costs.think_time_s > 1)
    add(fmt::format("the think time of {} is longer than an element took in the trace, {}",
                    format_seconds(a.costs.think_time_s),
                    format_seconds(1 / *a.rate.observed_per_s)));
  for (std::size_t i = 0; i < p.size(); ++i)
    if (reads_files(p.nodes[i]) && !(a.nodes[static_cast<NodeId>(i)].disk_bytes > 0))
      add(
          fmt::format("{}: its function reads files ({}), and the trace does not tell their bytes: "
                      "no disk bounds it in a plan",
                      p.nodes[i].name, p.nodes[i].function->facts.file_reads.front()));
  for (const Node& node : p.nodes)
    if (node.parallelism == kAutotune && !node.traced_parallelism && node.aligned)
      add(fmt::format("{}: AUTOTUNE had not chosen its parallelism (-1)", node.name));
  if (std::ranges::none_of(p.nodes, &Node::aligned))
    add("no node of the program has counters: do the program and the counters belong together?");
  if (traced_think_time && a.rate.observed_per_s.value_or(0) > 0 &&
      a.costs.think_time_s * *a.rate.observed_per_s > 1 + kTolerance)
    add(fmt::format("the consumer's think time of {} is longer than the period of {}: one is wrong",
                    format_seconds(a.costs.think_time_s),
                    format_seconds(1 / *a.rate.observed_per_s)));
  const double host_bytes = a.memory.processes * a.memory.held_bytes;
  if (a.memory.processes > 1 && p.machine.memory_total_bytes > 0 &&
      host_bytes > p.machine.memory_total_bytes)
    add(fmt::format(
        "{} processes with this pipeline hold {}, more than the {} of the traced machine",
        format_count(a.memory.processes), format_bytes(host_bytes),
        format_bytes(p.machine.memory_total_bytes)));
  double cpu_s = 0;
  for (const Counters& c : w.steady)
    cpu_s += p.dialect == Dialect::kOpstats ? c.cpu_s : c.service_s;
  if (cpu_s <= 0) add("no node used any CPU time: nothing limits the rate");
  for (auto& law : broken_laws(p, w, a)) add(std::move(law));
}

double unexplained_share(const Pipeline& pipeline, const Analysis& a) {
  if (!a.costs.hand_off_known || a.rate.observed_per_s.value_or(0) <= 0) return 0;
  if (a.bounds.empty() || !pipeline.consumer.bare) return 0;
  // With a cache the time is that of the epoch which filled it, too.
  const auto cached = [](const NodeSetting& setting) { return setting.cached; };
  if (std::any_of(a.setting.begin(), a.setting.end(), cached)) return 0;
  return 1 - *a.rate.observed_per_s / a.bounds.front().bound_per_s;
}

}  // namespace

Analysis analyze(const Pipeline& pipeline, const AnalysisOptions& options) {
  Analysis a;
  const CounterWindow window = settled_window(pipeline);
  a.elapsed_s = window.elapsed_s;
  a.root_elements = window.root_elements;
  a.dumps = pipeline.dumps.size();
  a.cores = pipeline.machine.cores;
  if (window.elapsed_s > 0) a.rate.observed_per_s = window.root_elements / window.elapsed_s;
  a.rate.ci95_per_s = window.ci95_per_s;
  if (window.start_s > 0) a.rate.start_s = window.start_s;

  // Demands: what each node asks for one root element. From here on counters are not looked at
  // again.
  const VisitRatios ratios = settled_ratios(pipeline, window);
  const PerNode<bool> filled = filled_caches(pipeline, window);
  Demands d = demands(pipeline, window, ratios, filled);
  a.nodes = std::move(d.nodes);
  a.costs = std::move(d.costs);
  a.costs.think_time_s = think_time_s(pipeline, options, a.rate);
  a.setting = traced_setting(pipeline);
  for (std::size_t i = 0; i < pipeline.size(); ++i)
    a.setting[static_cast<NodeId>(i)].cached = filled[static_cast<NodeId>(i)];
  add_sizes(pipeline, ratios, a);
  note_takes(pipeline, a);

  // Bounds: from here on demands are fixed.
  if (!pipeline.dumps.empty()) {
    correct(pipeline, window, a);
    fit(pipeline, window, filled, a);
    bound(pipeline, a);
    a.rate.epoch_start_s = epoch_start_s(pipeline, a);
    a.rate.unexplained_share = unexplained_share(pipeline, a);
    judge_consumer(pipeline, options, a);
    set_trust(window, d, a);
  }
  a.memory = memory_ledger(pipeline, a);
  a.memory.processes = options.processes;
  const PerNode<double> held = held_bytes(pipeline, a.memory);
  for (std::size_t i = 0; i < pipeline.size(); ++i)
    a.nodes[static_cast<NodeId>(i)].held_bytes = held[static_cast<NodeId>(i)];
  a.buffers = buffer_levels(pipeline);
  a.findings = findings(pipeline, a);
  warn(pipeline, window, !options.think_time_s, a);
  return a;
}

}  // namespace plumber
