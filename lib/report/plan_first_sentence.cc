// SPDX-License-Identifier: Apache-2.0
#include "report/plan_first_sentence.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumber {
namespace {

// "2 cores and 8 GiB": the limits as the sentences name them.
void add_limits(Sentence& sentence, const Limits& limits) {
  sentence.pattern += limits.cores == 1 ? "{} core and {}" : "{} cores and {}";
  sentence.values.push_back({Unit::kCount, limits.cores});
  sentence.values.push_back({Unit::kBytes, limits.memory_bytes});
}

std::string changes_text(const Plan& plan) {
  const auto edits = std::count_if(plan.edits.begin(), plan.edits.end(),
                                   [](const Edit& edit) { return !is_housekeeping(edit); });
  return fmt::format("{} change{}", edits, edits == 1 ? "" : "s");
}

std::string bound_words(const Predicted& predicted) {
  return predicted.upper_bound ? "at most " : predicted.lower_bound ? "at least " : "";
}

// The program did not fit: the plan makes it hold less, at the expense of its rate if need be.
Sentence shrunk_sentence(const OptimizeResult& result) {
  const PlannedMemory& memory = result.memory;
  const Predicted& predicted = result.predicted;
  Sentence sentence{"The program holds {}, more than the {} it may use: with {} it holds {}",
                    {{Unit::kBytes, memory.stock_bytes},
                     {Unit::kBytes, memory.budget_bytes},
                     {Unit::kNone, changes_text(result.plan)},
                     {Unit::kBytes, memory.planned_bytes}}};
  if (predicted.before_per_s > 0) {
    sentence +=
        {" and reaches " + bound_words(predicted) + "{} (stock TensorFlow: {})",
         {{Unit::kPerSecond, predicted.after_per_s}, {Unit::kPerSecond, predicted.before_per_s}}};
  }
  sentence.pattern += ".";
  return sentence;
}

// What the changes speed up lies below a cache, which is full later.
bool gains_only_first_epoch(const Predicted& predicted) {
  constexpr double kSame = 1.005;
  return !predicted.upper_bound && !predicted.lower_bound && predicted.speedup < kSame &&
         predicted.first_epoch_per_s.value_or(0) > 0 &&
         predicted.first_epoch_per_s < predicted.after_per_s;
}

Sentence gain_sentence(const OptimizeResult& result) {
  const Predicted& predicted = result.predicted;
  const std::pair<Unit, Value> changes{Unit::kNone, changes_text(result.plan)};
  if (predicted.before_per_s <= 0)  // the trace does not tell
    return {predicted.upper_bound ? "At most {} with {} on " : "{} with {} on ",
            {{Unit::kPerSecond, predicted.after_per_s}, changes}};
  if (gains_only_first_epoch(predicted))
    return {"As fast as stock TensorFlow ({}), but for the first epoch, with {} on ",
            {{Unit::kPerSecond, predicted.before_per_s}, changes}};
  const std::string times = predicted.upper_bound ? "up to " : bound_words(predicted);
  return {"From {} (stock TensorFlow) to " + bound_words(predicted) + "{}: " + times +
              "{} times as fast with {} on ",
          {{Unit::kPerSecond, predicted.before_per_s},
           {Unit::kPerSecond, predicted.after_per_s},
           {Unit::kNone, predicted.speedup},
           changes}};
}

Sentence optimal_sentence(const OptimizeResult& result) {
  const bool shrunk =
      result.model == ModelKind::kDefault && result.memory.stock_bytes > result.memory.budget_bytes;
  if (shrunk) return shrunk_sentence(result);
  Sentence sentence = gain_sentence(result);
  add_limits(sentence, result.limits);
  sentence.pattern += ".";
  return sentence;
}

// The target is reached as it is.
Sentence unchanged_sentence(const OptimizeResult& result) {
  Sentence sentence{"No change: stock TensorFlow reaches the target, with {} on ",
                    {{Unit::kPerSecond, result.predicted.before_per_s}}};
  add_limits(sentence, result.limits);
  sentence.pattern += ".";
  return sentence;
}

}  // namespace

bool is_housekeeping(const Edit& edit) {
  return edit.kind == EditKind::kSetOptions && std::holds_alternative<std::monostate>(edit.value);
}

Sentence first_sentence(const OptimizeResult& result) {
  const Predicted& predicted = result.predicted;
  Sentence sentence;
  switch (result.status) {
    case PlanStatus::kOptimal:
      return optimal_sentence(result);
    case PlanStatus::kNoChange:
      if (predicted.before_per_s <= 0) return {"No change: {}.", {{Unit::kNone, predicted.why}}};
      if (result.more.unchanged_cores) return unchanged_sentence(result);
      sentence = {"No change: stock TensorFlow runs this program at {}, and nothing within ",
                  {{Unit::kPerSecond, predicted.before_per_s}}};
      add_limits(sentence, result.limits);
      sentence.pattern += " is worth a change.";
      return sentence;
    case PlanStatus::kInfeasible:
      if (result.memory.planned_bytes > result.memory.budget_bytes)
        return {"Not possible: the program holds {} at least, and may use {}.",
                {{Unit::kBytes, result.memory.planned_bytes},
                 {Unit::kBytes, result.memory.budget_bytes}}};
      sentence = {"Not possible: the best plan within ", {}};
      add_limits(sentence, result.limits);
      sentence.pattern += " reaches {}.";
      sentence.values.push_back({Unit::kPerSecond, predicted.after_per_s});
      return sentence;
  }
  return sentence;
}

}  // namespace plumber
