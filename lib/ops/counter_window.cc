// SPDX-License-Identifier: Apache-2.0
#include "ops/counter_window.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plumber {
namespace {

double grown(double from, double to) { return std::max(0.0, to - from); }

Counters difference(const Counters& from, const Counters& to) {
  Counters out = to;
  out.elements = grown(from.elements, to.elements);
  out.service_s = grown(from.service_s, to.service_s);
  out.cpu_s = grown(from.cpu_s, to.cpu_s);
  out.bytes_produced = grown(from.bytes_produced, to.bytes_produced);
  out.disk_bytes = grown(from.disk_bytes, to.disk_bytes);
  out.files_opened = grown(from.files_opened, to.files_opened);
  out.worked_elements = grown(from.worked_elements, to.worked_elements);
  out.start_service_s = grown(from.start_service_s, to.start_service_s);
  out.start_elements = grown(from.start_elements, to.start_elements);
  out.consumer_elements = grown(from.consumer_elements, to.consumer_elements);
  return out;
}

// Dumps that end intervals of a useful length: one written right after another is its state again.
std::vector<const PipelineDump*> spaced_dumps(const Pipeline& pipeline) {
  constexpr double kShortest = 0.25;  // of the mean interval
  const auto& dumps = pipeline.dumps;
  const double mean_s =
      (dumps.back().time_s - dumps.front().time_s) / static_cast<double>(dumps.size() - 1);
  std::vector<const PipelineDump*> kept{&dumps.front()};
  for (const PipelineDump& dump : dumps)
    if (dump.time_s - kept.back()->time_s > kShortest * mean_s) kept.push_back(&dump);
  return kept;
}

// Two-sided 95 % quantile of Student's t for n - 1 degrees of freedom.
double student_t95(std::size_t n) {
  static constexpr std::array<double, 10> kTable = {12.706, 4.303, 3.182, 2.776, 2.571,
                                                    2.447,  2.365, 2.306, 2.262, 2.228};
  return n - 2 < kTable.size() ? kTable[n - 2] : 1.96 + 2.4 / static_cast<double>(n - 1);
}

std::optional<std::pair<double, double>> rate_interval(
    const std::vector<const PipelineDump*>& dumps) {
  if (dumps.size() < 3) return std::nullopt;
  std::vector<double> rates;
  for (std::size_t i = 1; i < dumps.size(); ++i)
    rates.push_back(grown(dumps[i - 1]->root_elements, dumps[i]->root_elements) /
                    (dumps[i]->time_s - dumps[i - 1]->time_s));
  const auto n = static_cast<double>(rates.size());
  double mean = 0, square = 0;
  for (const double rate : rates) mean += rate / n;
  for (const double rate : rates) square += (rate - mean) * (rate - mean);
  const double half = student_t95(rates.size()) * std::sqrt(square / (n - 1) / n);
  return std::pair(std::max(0.0, mean - half), mean + half);
}

// Up to the first element threads were started, functions compiled and shuffles filled.
void drop_start(const PipelineDump& dump, CounterWindow& window) {
  constexpr double kLeastElements = 2;
  if (dump.first_s <= 0 || dump.first_s >= dump.time_s || dump.root_elements < kLeastElements)
    return;
  window.start_s = dump.first_s;
  window.elapsed_s -= dump.first_s;
  window.process_cpu_s -= dump.first_cpu_s;
  window.root_elements -= 1;
}

}  // namespace

CounterWindow counter_window(const Pipeline& pipeline, StartTime start) {
  CounterWindow window;
  window.steady = window.total = PerNode<Counters>(pipeline.size());
  if (pipeline.dumps.empty()) return window;
  const PipelineDump& last = pipeline.dumps.back();
  window.total = last.counters;
  window.steady = last.counters;
  window.elapsed_s = last.time_s;
  window.process_cpu_s = last.process_cpu_s;
  window.root_elements = last.root_elements;
  if (pipeline.dumps.size() < 2) {
    if (start == StartTime::kDropped) drop_start(last, window);
    return window;
  }
  const auto dumps = spaced_dumps(pipeline);
  const PipelineDump& first = *dumps.front();
  if (dumps.size() < 2 || last.root_elements <= first.root_elements) return window;
  window.elapsed_s = last.time_s - first.time_s;
  window.process_cpu_s = grown(first.process_cpu_s, last.process_cpu_s);
  window.root_elements = last.root_elements - first.root_elements;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    window.steady[n] = difference(first.counters[n], last.counters[n]);
  }
  window.ci95_per_s = rate_interval(dumps);
  return window;
}

}  // namespace plumber
