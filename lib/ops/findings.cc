// SPDX-License-Identifier: Apache-2.0
#include "ops/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "ops/memory_ledger.h"
#include "ops/rules.h"

namespace plumber {
namespace {

constexpr double kLeastGain = 0.02;

PerNode<Cardinality> epochs(const Analysis& a) {
  PerNode<Cardinality> elements(a.nodes.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto n = static_cast<NodeId>(i);
    elements[n] = a.nodes[n].elements_per_epoch;
  }
  return elements;
}

Finding finding(const Rule& rule, Remark remark) {
  const bool moves_no_bound = rule.about == About::kRate && !remark.gain_per_s;
  const Severity severity = remark.minor || moves_no_bound ? Severity::kHint : rule.gravest;
  return {rule.id,
          severity,
          std::move(remark.nodes),
          std::move(remark.text),
          std::move(remark.evidence),
          remark.gain_per_s,
          std::move(remark.python)};
}

}  // namespace

Inspection inspect(const Pipeline& pipeline, const Analysis& analysis) {
  const Machine machine{analysis.cores};
  Evaluation now;
  if (!pipeline.dumps.empty()) now = evaluate(pipeline, analysis.costs, analysis.setting, machine);
  return {pipeline,
          analysis,
          machine,
          std::move(now),
          randomness_below(pipeline, [](NodeId) { return false; }),
          what_stands_above(pipeline, epochs(analysis)),
          held_bytes(pipeline, analysis.memory)};
}

std::optional<double> gain_between(const Inspection& look, const Evaluation& changed) {
  const double before_s = look.now.period_s, after_s = changed.period_s;
  if (!(before_s > 0) || !(after_s > 0) || after_s * (1 + kLeastGain) > before_s)
    return std::nullopt;
  return 1 / after_s - 1 / before_s;
}

std::optional<double> gain_per_s(const Inspection& look, const Setting& changed) {
  return gain_between(look, evaluate(look.pipeline, look.analysis.costs, changed, look.machine));
}

std::optional<double> gain_per_s(const Inspection& look, const Costs& changed) {
  return gain_between(look, evaluate(look.pipeline, changed, look.analysis.setting, look.machine));
}

std::string share_of_period(const Inspection& look, double part_s) {
  return format_share(look.now.period_s > 0 ? part_s / look.now.period_s : 0);
}

std::vector<Finding> findings(const Pipeline& pipeline, const Analysis& analysis) {
  const Inspection look = inspect(pipeline, analysis);
  std::vector<Finding> found;
  for (const Rule& rule : rules()) {
    std::vector<Remark> remarks;
    rule.find(look, remarks);
    for (Remark& remark : remarks) found.push_back(finding(rule, std::move(remark)));
  }
  std::ranges::stable_sort(found, [](const Finding& a, const Finding& b) {
    const double gain_a = a.gain_per_s.value_or(0), gain_b = b.gain_per_s.value_or(0);
    return gain_a != gain_b ? gain_a > gain_b : a.severity < b.severity;
  });
  return found;
}

}  // namespace plumber
