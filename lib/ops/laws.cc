// SPDX-License-Identifier: Apache-2.0
#include "ops/laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plumber {
namespace {

// Counters of different nodes are read at different moments.
constexpr double kTolerance = 0.1;
// Elements that may be in flight or waiting in a buffer between two nodes.
constexpr double kInFlight = 64;

void check_utilisation(const Pipeline& p, const Analysis& a, std::vector<std::string>& broken) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    const NodeAnalysis& node = a.nodes[n];
    sum += node.busy_cores;
    // A synchronous node runs on as many threads as its readers; only the node's own is known here.
    if (!node.parallelism || p[n].outer) continue;
    if (node.busy_cores > *node.parallelism * (1 + kTolerance))
      broken.push_back(
          fmt::format("utilisation law: {} keeps {:.2f} cores busy with {:.0f} thread{}", p[n].name,
                      node.busy_cores, *node.parallelism, *node.parallelism == 1 ? "" : "s"));
  }
  if (a.cores > 0 && sum > a.cores * (1 + kTolerance))
    broken.push_back(
        fmt::format("utilisation law: the nodes keep {:.2f} cores busy of {:.0f}", sum, a.cores));
}

double buffered(const Pipeline& p, const Counters& counters, NodeId n) {
  return counters.buffered_elements +
         static_cast<double>(std::max<std::int64_t>(0, p[n].buffer_size.value_or(0)));
}

// Opstats only: in the model dialect polling loses counts, which the analysis puts back.
void check_forced_flow(const Pipeline& p, const CounterWindow& w, const Analysis& a,
                       std::vector<std::string>& broken) {
  double waiting = kInFlight;  // elements of the nodes above, at most
  for (std::size_t i = p.size(); i-- > 0;) {
    const auto n = static_cast<NodeId>(i);
    waiting += buffered(p, w.total[n], n);
    if (!a.nodes[n].visit_structural || a.nodes[n].below_cache || !p[n].aligned) continue;
    if (p[n].kind == Kind::kWrapper) continue;
    const double expected = a.nodes[n].visit_ratio * p.dumps.back().root_elements;
    const double counted = w.total[n].elements;
    const double ahead = waiting * std::max(1.0, a.nodes[n].visit_ratio);
    if (counted < expected * (1 - kTolerance) || counted > expected * (1 + kTolerance) + ahead)
      broken.push_back(
          fmt::format("forced flow law: {} counted {:.0f} elements where {:.0f} are due", p[n].name,
                      counted, expected));
  }
}

bool passes_on(Kind kind) {
  return kind == Kind::kPrefetch || kind == Kind::kRepeat || kind == Kind::kTake;
}

void check_conservation(const Pipeline& p, const Analysis& a, std::vector<std::string>& broken) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    if (!passes_on(p[n].kind) || p[n].inputs.size() != 1) continue;
    const double out = a.nodes[n].bytes_per_element;
    const double in = a.nodes[p[n].inputs.front()].bytes_per_element;
    if (in > 0 && out > 0 && std::abs(out / in - 1) > kTolerance)
      broken.push_back(
          fmt::format("conservation of bytes: {} passes elements on, but takes {:.0f} B and "
                      "gives {:.0f} B an element",
                      p[n].name, in, out));
  }
}

void check_total(const Pipeline& p, const CounterWindow& w, std::vector<std::string>& broken) {
  if (p.dialect != Dialect::kOpstats || w.process_cpu_s <= 0) return;
  double sum_s = 0;
  for (const Counters& c : w.steady) sum_s += c.cpu_s;
  if (sum_s > w.process_cpu_s * (1 + kTolerance))
    broken.push_back(
        fmt::format("total CPU: the nodes used {:.3g} s, the whole process only {:.3g} s", sum_s,
                    w.process_cpu_s));
}

}  // namespace

std::vector<std::string> broken_laws(const Pipeline& pipeline, const CounterWindow& window,
                                     const Analysis& analysis) {
  std::vector<std::string> broken;
  if (pipeline.dumps.empty()) return broken;
  check_utilisation(pipeline, analysis, broken);
  if (pipeline.dialect == Dialect::kOpstats) check_forced_flow(pipeline, window, analysis, broken);
  check_conservation(pipeline, analysis, broken);
  check_total(pipeline, window, broken);
  return broken;
}

}  // namespace plumber
