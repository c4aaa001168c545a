// SPDX-License-Identifier: Apache-2.0
#include "pipeline/function_facts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "pipeline/function_body.h"

namespace plumber {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kMostNames = 16;
constexpr int kMostOps = 1'000'000;

// Sorted, each once, the first few: what keeps the union of many sets cheap.
void tidy(Names& names) {
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  if (names.size() > kMostNames) names.resize(kMostNames);
}

void add(Names& names, const Names& more) {
  if (more.empty()) return;
  names.insert(names.end(), more.begin(), more.end());
  tidy(names);
}

// The facts of a function and all below it, as they spread from callee to caller.
struct Reach {
  FunctionFacts facts;
  Names reordering;
  bool consumes_dataset = false;
};

void spread(const Reach& callee, const FunctionCall& call, Reach& caller) {
  FunctionFacts& facts = caller.facts;
  if (call.reaches) add(facts.random, callee.facts.random);
  if (call.reaches) add(facts.seeded, callee.facts.seeded);
  add(facts.stateful, callee.facts.stateful);
  add(facts.state_reads, callee.facts.state_reads);
  add(facts.python, callee.facts.python);
  add(facts.missing, callee.facts.missing);
  add(caller.reordering, callee.reordering);
  caller.consumes_dataset |= callee.consumes_dataset;
  facts.recursive |= callee.facts.recursive;
  if (call.by_dataset) return;
  facts.ops = std::min(kMostOps, facts.ops + callee.facts.ops);
  add(facts.control_flow, callee.facts.control_flow);
  add(facts.sharding, callee.facts.sharding);
  add(facts.sharding_large, callee.facts.sharding_large);
  add(facts.locking, callee.facts.locking);
  add(facts.file_reads, callee.facts.file_reads);
}

Reach own_reach(FunctionBody& body) {
  FunctionFacts& facts = body.facts;
  for (Names* names : {&facts.random, &facts.seeded, &facts.file_reads, &facts.stateful,
                       &facts.state_reads, &facts.python, &facts.control_flow, &facts.sharding,
                       &facts.sharding_large, &facts.locking, &body.reordering})
    tidy(*names);
  facts.ops = std::min(kMostOps, facts.ops);
  return {facts, body.reordering, body.consumes_dataset};
}

// Groups of functions that reach each other, callees first (Tarjan's algorithm without recursion).
class Groups {
 public:
  explicit Groups(const std::vector<std::vector<int>>& callees)
      : callees_(callees),
        number_(callees.size(), -1),
        low_(callees.size(), 0),
        on_stack_(callees.size(), false) {
    for (int i = 0; i < static_cast<int>(callees.size()); ++i)
      if (number(i) < 0) walk(i);
  }

  std::vector<std::vector<int>> take() { return std::move(groups_); }

 private:
  struct Visit {
    int function;
    std::size_t next;
  };

  int& number(int i) { return number_[static_cast<std::size_t>(i)]; }
  int& low(int i) { return low_[static_cast<std::size_t>(i)]; }

  void enter(int function) {
    number(function) = low(function) = next_number_++;
    stack_.push_back(function);
    on_stack_[static_cast<std::size_t>(function)] = true;
    visits_.push_back({function, 0});
  }

  void walk(int start) {
    enter(start);
    while (!visits_.empty()) {
      Visit& top = visits_.back();
      const int function = top.function;
      const auto& callees = callees_[static_cast<std::size_t>(function)];
      if (top.next < callees.size()) {
        const int callee = callees[top.next++];
        if (number(callee) < 0)
          enter(callee);
        else if (on_stack_[static_cast<std::size_t>(callee)])
          low(function) = std::min(low(function), number(callee));
        continue;
      }
      visits_.pop_back();
      if (!visits_.empty())
        low(visits_.back().function) = std::min(low(visits_.back().function), low(function));
      if (low(function) == number(function)) close(function);
    }
  }

  void close(int function) {
    auto& group = groups_.emplace_back();
    while (true) {
      const int member = stack_.back();
      stack_.pop_back();
      on_stack_[static_cast<std::size_t>(member)] = false;
      group.push_back(member);
      if (member == function) return;
    }
  }

  const std::vector<std::vector<int>>& callees_;
  std::vector<int> number_, low_;
  std::vector<bool> on_stack_;
  std::vector<int> stack_;
  std::vector<Visit> visits_;
  std::vector<std::vector<int>> groups_;
  int next_number_ = 0;
};

// Calls of an op that is no function of the library are ordinary ops; a named function that the
// library lacks is missing.
std::vector<std::vector<int>> resolve_calls(const std::unordered_map<std::string, int>& place,
                                            std::vector<FunctionBody>& bodies) {
  std::vector<std::vector<int>> callees(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    for (const FunctionCall& call : bodies[i].calls) {
      const auto found = place.find(call.callee);
      if (found != place.end())
        callees[i].push_back(found->second);
      else if (!call.as_op)
        bodies[i].facts.missing.push_back(call.callee);
    }
    tidy(bodies[i].facts.missing);
  }
  return callees;
}

// All members of a circle share one answer: the union of their own facts and of what they call.
Reach group_reach(const std::vector<int>& group, const std::unordered_map<std::string, int>& place,
                  std::vector<FunctionBody>& bodies, const std::vector<Reach>& reach) {
  Reach sum = own_reach(bodies[static_cast<std::size_t>(group.front())]);
  const std::unordered_set<int> members(group.begin(), group.end());
  for (std::size_t k = 1; k < group.size(); ++k) {
    const Reach own = own_reach(bodies[static_cast<std::size_t>(group[k])]);
    spread(own, {"", false, false, true}, sum);
  }
  if (group.size() > 1) sum.facts.short_circuit = sum.facts.identity = false;
  for (const int member : group) {
    for (const FunctionCall& call : bodies[static_cast<std::size_t>(member)].calls) {
      const auto found = place.find(call.callee);
      if (found == place.end()) continue;
      if (members.contains(found->second))
        sum.facts.recursive = true;
      else
        spread(reach[static_cast<std::size_t>(found->second)], call, sum);
    }
  }
  return sum;
}

// A shuffle changes the order of elements; where a function reduces them, it changes its value.
FunctionFacts settle(Reach reach) {
  if (reach.consumes_dataset) add(reach.facts.random, reach.reordering);
  return std::move(reach.facts);
}

bool strip_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

void strip_number(std::string_view& text) {
  const auto digits = text.find_last_not_of("0123456789");
  if (digits != std::string_view::npos && digits + 1 < text.size() && text[digits] == '_')
    text = text.substr(0, digits);
}

// Names of transformations as TensorFlow puts them before the function's own, longer ones first.
constexpr std::array<std::string_view, 18> kTransformations{
    "tf_data_experimental_parallel_interleave_",
    "tf_data_experimental_group_by_reducer_",
    "Dataset_snapshot()_reader_fu_",
    "Dataset_snapshot()_shard_fu_",
    "tf_data_experimental_map_and_batch_",
    "Dataset_group_by_window_",
    "Dataset_from_generator_",
    "Dataset_interleave_",
    "Dataset_take_while_",
    "Dataset_flat_map_",
    "Dataset_snapshot_",
    "Dataset_filter_",
    "Dataset_reduce_",
    "Dataset_scan_",
    "Dataset_map_",
    "reduce_",
    "load_",
    "save_",
};

// Functions that tf.data writes itself.
constexpr std::array<std::string_view, 5> kOfTensorFlow{
    "read_one_file", "generator_next_fn", "get_iterator_id_fn", "finalize_fn", "flat_map_fn"};

}  // namespace

FunctionIndex::FunctionIndex(const tensorflow::FunctionDefLibrary& library) {
  for (const auto& function : library.function())
    if (place_.emplace(function.signature().name(), static_cast<int>(functions_.size())).second)
      functions_.push_back(&function);
  std::vector<FunctionBody> bodies;
  bodies.reserve(functions_.size());
  for (const auto* function : functions_) bodies.push_back(read_function_body(*function));
  const auto callees = resolve_calls(place_, bodies);
  std::vector<Reach> reach(functions_.size());
  for (const auto& group : Groups(callees).take()) {
    const Reach sum = group_reach(group, place_, bodies, reach);
    for (const int member : group) reach[static_cast<std::size_t>(member)] = sum;
  }
  facts_.reserve(reach.size());
  for (Reach& each : reach) facts_.push_back(settle(std::move(each)));
}

const tensorflow::FunctionDef* FunctionIndex::find(const std::string& name) const {
  const auto found = place_.find(name);
  return found == place_.end() ? nullptr : functions_[static_cast<std::size_t>(found->second)];
}

const FunctionFacts* FunctionIndex::facts(const std::string& name) const {
  const auto found = place_.find(name);
  return found == place_.end() ? nullptr : &facts_[static_cast<std::size_t>(found->second)];
}

FunctionFacts function_facts(const FunctionIndex& functions, const std::string& name) {
  if (const FunctionFacts* facts = functions.facts(name)) return *facts;
  FunctionFacts absent;
  absent.missing.push_back(name);
  return absent;
}

std::string source_name(const std::string& function_name) {
  std::string_view name = function_name;
  if (!strip_prefix(name, "__inference_") && !strip_prefix(name, "__forward_"))
    return function_name;
  strip_number(name);
  for (const std::string_view transformation : kTransformations)
    if (strip_prefix(name, transformation)) break;
  const bool is_class = name.starts_with("class") && name.find('.') != std::string_view::npos;
  if (is_class || std::ranges::find(kOfTensorFlow, name) != kOfTensorFlow.end()) return "";
  return std::string(name);
}

}  // namespace plumber
