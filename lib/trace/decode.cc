// SPDX-License-Identifier: Apache-2.0
#include "trace/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>

namespace plumber {
namespace {

constexpr double kNs = 1e-9;
constexpr double kUs = 1e-6;

// A counter that can only grow: a negative value is damage, not a measurement.
double counter(std::int64_t value, const std::string& name, std::vector<std::string>& warnings) {
  if (value >= 0) return static_cast<double>(value);
  const std::string text = fmt::format("{}: a negative counter ({}) was taken for 0", name, value);
  if (std::find(warnings.begin(), warnings.end(), text) == warnings.end()) warnings.push_back(text);
  return 0;
}

OpCounters decode_op(const trace::OpStats& op, std::vector<std::string>& warnings) {
  const auto count = [&](std::int64_t value) { return counter(value, op.name(), warnings); };
  OpCounters out;
  out.name = op.name();
  out.elements = count(op.aggregate_elements_produced());
  out.service_s = count(op.aggregate_processing_time()) * kNs;
  out.cpu_s = count(op.aggregate_processing_time_clock()) * kNs;
  out.bytes_produced = count(op.aggregate_bytes_produced());
  out.disk_bytes = count(op.aggregate_disk_bytes_read());
  out.files_opened = count(op.aggregate_elements_consumed());
  out.parallelism = static_cast<double>(op.parallelism());
  out.element_ratio = op.element_ratio();
  if (!std::isfinite(out.element_ratio)) {
    warnings.push_back(
        fmt::format("{}: its element ratio is not a number; it is left out", op.name()));
    out.element_ratio = -1;
  }
  out.cardinality = op.cardinality();
  out.max_buffer_elements = count(op.aggregate_max_buffer_size());
  out.max_bytes_per_element = count(op.aggregate_max_bytes_per_element());
  return out;
}

std::vector<IteratorParameter> decode_parameters(
    const tensorflow::data::model::ModelProto::Node& node) {
  std::vector<IteratorParameter> out;
  for (const auto& p : node.parameters())
    out.push_back({p.name(), p.value(), p.state_value(), p.tunable()});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

IteratorNode decode_iterator(const tensorflow::data::model::ModelProto::Node& node,
                             std::vector<std::string>& warnings) {
  const auto count = [&](std::int64_t value) { return counter(value, node.name(), warnings); };
  IteratorNode out;
  out.id = node.id();
  out.name = node.name();
  out.elements = count(node.num_elements());
  out.busy_s = count(node.processing_time()) * kNs;
  out.bytes_produced = count(node.bytes_produced());
  out.bytes_consumed = count(node.bytes_consumed());
  out.buffered_elements = count(node.buffered_elements());
  out.buffered_bytes = count(node.buffered_bytes());
  out.ratio = std::isfinite(node.ratio()) && node.ratio() >= 0 ? node.ratio() : 0;
  out.parameters = decode_parameters(node);
  return out;
}

// What the recorder knows of the iterators besides their counters; a damaged id names none.
void add_recorded(const trace::Recorder& recorder, IteratorTree& tree,
                  std::vector<std::string>& warnings) {
  std::unordered_map<std::int64_t, IteratorNode*> by_id;
  for (IteratorNode& iterator : tree.iterators) by_id[iterator.id] = &iterator;
  const auto find = [&](std::int64_t id) {
    const auto found = by_id.find(id);
    return found == by_id.end() ? nullptr : found->second;
  };
  const auto count = [&](std::int64_t value) { return counter(value, "recorder", warnings); };
  tree.epochs = count(recorder.epochs_completed());
  tree.epochs_elements = count(recorder.epochs_elements());
  for (const std::int64_t id : recorder.ended_iterators())
    if (IteratorNode* iterator = find(id)) iterator->ended = true;
  for (const auto& lost : recorder.lost())
    if (IteratorNode* iterator = find(lost.node_id()))
      iterator->consumer_elements = count(lost.consumer_elements());
  for (const auto& start : recorder.starts()) {
    IteratorNode* iterator = find(start.node_id());
    if (!iterator) continue;
    iterator->start_busy_s = std::min(iterator->busy_s, count(start.processing_time()) * kNs);
    iterator->start_elements = count(start.elements());
    iterator->start_buffered_elements = count(start.buffered_elements());
  }
}

}  // namespace

IteratorTree decode_model(const tensorflow::data::model::ModelProto& model,
                          std::vector<std::string>& warnings) {
  std::map<std::int64_t, const tensorflow::data::model::ModelProto::Node*> by_id;
  for (const auto& [id, node] : model.nodes()) by_id[id] = &node;
  IteratorTree tree;
  std::map<std::int64_t, std::int32_t> place;
  for (const auto& [id, node] : by_id) {
    place[id] = static_cast<std::int32_t>(tree.iterators.size());
    tree.iterators.push_back(decode_iterator(*node, warnings));
    tree.iterators.back().id = id;
  }
  for (auto& iterator : tree.iterators)
    for (const std::int64_t input : by_id[iterator.id]->inputs())
      if (const auto found = place.find(input); found != place.end())
        iterator.inputs.push_back(found->second);
  if (const auto root = place.find(model.output()); root != place.end()) tree.root = root->second;
  for (const std::uint64_t gap : model.gap_times())
    tree.gap_times_s.push_back(static_cast<double>(gap) * kUs);
  return tree;
}

namespace {

// Counters are joined to nodes by name: of two of one name, one is lost.
void warn_of_twins(const std::vector<OpCounters>& ops, std::vector<std::string>& warnings) {
  std::map<std::string_view, int> times;
  for (const OpCounters& op : ops) {
    if (++times[op.name] != 2) continue;
    warnings.push_back(fmt::format(
        "{}: there are counters of this name twice; the last ones were taken", op.name));
  }
}

}  // namespace

Dump decode_dump(const trace::PipelineSnapshot& snapshot, std::vector<std::string>& warnings) {
  const trace::SnapshotInfo& info = snapshot.snapshot_info();
  const auto span = [](std::int64_t from, std::int64_t to) {
    return from > 0 && to > from ? static_cast<double>(to - from) * kNs : 0.0;
  };
  Dump dump;
  dump.time_s = span(info.start_time(), info.current_time());
  dump.process_cpu_s = span(info.process_start_time(), info.process_current_time());
  const trace::Recorder& recorder = snapshot.recorder();
  dump.first_s = std::min(dump.time_s, span(info.start_time(), recorder.first_element_time()));
  dump.first_cpu_s = std::min(
      dump.process_cpu_s, span(info.process_start_time(), recorder.first_element_process_time()));
  for (const auto& op : snapshot.stats()) dump.ops.push_back(decode_op(op, warnings));
  warn_of_twins(dump.ops, warnings);
  if (snapshot.has_model()) dump.model = decode_model(snapshot.model(), warnings);
  if (snapshot.has_recorder()) add_recorded(snapshot.recorder(), dump.model, warnings);
  const double think_us = snapshot.iter_stats().avg_duration_us();
  if (snapshot.has_iter_stats() && std::isfinite(think_us) && think_us >= 0)
    dump.think_time_s = think_us * kUs;
  return dump;
}

TraceMachine decode_machine(const trace::PipelineSnapshot& snapshot) {
  const auto& info = snapshot.machine_info();
  const auto& recorder = snapshot.recorder();
  TraceMachine machine;
  machine.cores = static_cast<double>(std::max<std::int64_t>(0, info.num_cores()));
  machine.memory_total_bytes = static_cast<double>(std::max<std::int64_t>(0, info.memory_total()));
  machine.memory_free_bytes = static_cast<double>(std::max<std::int64_t>(0, info.memory_free()));
  const auto at_most = [](double& value, double limit) {
    if (std::isfinite(limit) && limit > 0) value = value > 0 ? std::min(value, limit) : limit;
  };
  at_most(machine.cores, recorder.cores_allowed());
  at_most(machine.cores, recorder.cgroup_cpu_cores());
  at_most(machine.memory_total_bytes, static_cast<double>(recorder.memory_total_bytes()));
  at_most(machine.memory_total_bytes, static_cast<double>(recorder.cgroup_memory_bytes()));
  return machine;
}

namespace {

Calibration decode_calibration(const trace::Calibration& in) {
  // A damaged value counts as not measured.
  const auto value = [](double v) { return std::isfinite(v) && v > 0 ? v : 0.0; };
  Calibration out;
  out.dispatch_base_s = value(in.dispatch_base_s());
  out.dispatch_deep_s = value(in.dispatch_deep_s());
  out.dispatch_tau_s = value(in.dispatch_tau_s());
  out.dispatch_cpu_base_s = value(in.dispatch_cpu_base_s());
  out.dispatch_cpu_deep_s = value(in.dispatch_cpu_deep_s());
  out.node_overcount_s = value(in.node_overcount_s());
  out.node_overcount_op_s = value(in.node_overcount_op_s());
  out.parallel_overcount_s = value(in.parallel_overcount_s());
  out.parallel_wall_s = value(in.parallel_wall_s());
  out.parallel_inline_wall_s = value(in.parallel_inline_wall_s());
  out.parallel_cpu_s = value(in.parallel_cpu_s());
  out.parallel_inline_cpu_s = value(in.parallel_inline_cpu_s());
  out.handover_base_s = value(in.handover_base_s());
  out.handover_slope = value(in.handover_slope());
  out.handover_max_s = value(in.handover_max_s());
  out.next_s = value(in.next_s());
  out.cores = in.cores();
  return out;
}

}  // namespace

Recorder decode_recorder(const trace::Recorder& in) {
  Recorder out;
  out.tensorflow_version = in.tensorflow_version();
  out.mode = in.mode();
  out.polling_interval_s = in.polling_interval_s();
  out.pipeline_cpu_s = in.pipeline_cpu_s();
  out.inline_probe_cpu_s = in.inline_probe_cpu_s();
  out.run_queue_wait_s = in.run_queue_wait_s();
  for (const auto& fill : in.buffer_fill())
    out.buffer_fill.push_back({fill.node_id(), fill.mean_elements()});
  if (in.has_calibration()) out.calibration = decode_calibration(in.calibration());
  out.element_spec = in.element_spec();
  return out;
}

}  // namespace plumber
