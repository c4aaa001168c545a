// SPDX-License-Identifier: Apache-2.0
// What every sequence of edits keeps, on programs and edits drawn at random: the types at the root,
// the order of nodes, names, what nodes read besides the edited scalars. Linear time on long
// chains.
#include <fmt/format.h>

#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "catch2_any.h"
#include "program_text.h"
#include "rewrite/apply_plan.h"

namespace plumber {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  // The standard's distributions differ from library to library; the engine does not.
  std::size_t below(std::size_t end) { return engine_() % end; }
  template <class T>
  const T& of(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  std::mt19937 engine_;
};

// A chain of these over a range; all constants are shared.
const std::vector<std::string> kChain = {
    "MapDataset({0}, two) Targuments=[int64] f=@add : int64",
    "ParallelMapDatasetV2({0}, two) Targuments=[] deterministic=\"true\" f=@once : int64",
    "FilterDataset({0}) Targuments=[] predicate=@even : int64",
    "InterleaveDataset({0}, four, two) Targuments=[] f=@read : int64",
    "ParallelInterleaveDatasetV4({0}, four, two, two, two, two) Targuments=[] f=@read : int64",
    "MapAndBatchDataset({0}, two, four, two, flag) Targuments=[int64] f=@add : int64",
    "FlatMapDataset({0}, two) Targuments=[int64] f=@nested : int64",
    "PrefetchDataset({0}, two) : int64",
    "CacheDatasetV2({0}, memory, handle) : int64",
    "TakeDataset({0}, four) : int64",
    "ShardDataset({0}, four, two) : int64",
};

const std::string kFunctions = R"(def once(x: int64) -> z: int64 = sum:z:0
  sum = AddV2(x, x)
def add(x: int64, y: int64) -> z: int64 = sum:z:0
  sum = AddV2(x, y)
def even(x: int64) -> z: bool = sum:z:0
  sum = IsEven(x)
def read(x: int64) -> d: variant = map:handle:0
  range = RangeDataset(x) : int64
  two = 2
  map = ParallelMapDatasetV2(range:handle:0, two:output:0) Targuments=[] f=@once : int64
def nested(x: int64, y: int64) -> d: variant = same:output:0
  range = RangeDataset(x, y) : int64
  flat = FlatMapDataset(range:handle:0) Targuments=[] f=@read : int64
  same = Identity(flat:handle:0)
)";

std::string chain(Dice& dice, std::size_t length, std::vector<std::string>& names) {
  std::string text =
      "two = 2\nfour = 4\nflag = true\nmemory = \"\"\nhandle = resource \"MemoryCache_0\"\n"
      "n0 = RangeDataset(four) : int64\nr1 = RangeDataset(two) : int64\n"
      "r2 = RangeDataset(two) : int64\nr3 = RangeDataset(two) : int64\n"
      "c1 = ConcatenateDataset(n0, r1) : int64\nc2 = ConcatenateDataset(c1, r2) : int64\n"
      "n1 = ConcatenateDataset(c2, r3) : int64\n";
  names = {"n0", "n1"};
  for (std::size_t i = 0; i < length; ++i) {
    const std::string name = fmt::format("n{}", names.size());
    text += name + " = " + fmt::format(fmt::runtime(dice.of(kChain)), names.back()) + "\n";
    names.push_back(name);
  }
  return text + "batch = BatchDatasetV2(" + names.back() +
         ", two, two) : int64[?]\nroot = _Retval(batch)\n" + kFunctions;
}

Edit random_edit(Dice& dice, const std::vector<std::string>& names, std::size_t number) {
  static const std::vector<std::string> targets = {
      "ParallelMapDatasetV2", "ParallelInterleaveDatasetV4", "ParallelBatchDataset", ""};
  static const std::vector<std::string> options = {"deterministic", "autotune.enabled",
                                                   "threading.private_threadpool_size"};
  static const std::vector<std::string> inner = {"",       "",      "",         ">map",
                                                 ">range", ">flat", ">flat>map"};
  static const std::vector<std::string> at_once = {"2", "3", "x"};
  Edit edit;
  edit.id = fmt::format("E{}", number);
  edit.kind = *edit_kind(dice.of(edit_words()));
  const std::size_t place = dice.below(names.size());
  edit.node = names[place] + dice.of(inner);
  if (edit.kind == EditKind::kConvert) edit.to = dice.of(targets);
  if (edit.kind == EditKind::kReorder || edit.kind == EditKind::kMoveIntoFunction)
    edit.to = names[place > 0 ? place - 1 : 0];
  if (edit.kind == EditKind::kInsertPartialCache) edit.to = names[dice.below(place + 1)];
  if (edit.kind == EditKind::kInsertChunks) edit.to = dice.of(at_once);
  if (edit.kind == EditKind::kSetOptions) edit.to = dice.of(options);
  const std::vector<EditValue> values = {std::int64_t{2}, std::int64_t{3}, std::int64_t{-1}, true,
                                         EditValue()};
  edit.value = dice.of(values);
  return edit;
}

bool can_be_made(const GraphDef& graph, const std::vector<Edit>& edits) {
  try {
    apply_plan(graph, {"", edits, {}});
    return true;
  } catch (const Error& error) {
    REQUIRE(error.kind == ErrorKind::kInput);
    return false;
  }
}

std::string node_of_input(std::string input) {
  if (input.starts_with("^")) input = input.substr(1);
  return input.substr(0, input.find(':'));
}

template <class Nodes>
void check_body(const Nodes& nodes, std::set<std::string> seen) {
  for (const NodeDef& node : nodes) {
    bool control = false;
    for (const std::string& input : node.input()) {
      INFO(program_text::node_text(node));
      CHECK(seen.contains(node_of_input(input)));
      CHECK(!(control && !input.starts_with("^")));
      control = control || input.starts_with("^");
    }
    INFO(node.name());
    CHECK(seen.insert(node.name()).second);
  }
}

void check_program(const GraphDef& graph) {
  std::set<std::string> functions;
  check_body(graph.node(), {});
  for (const auto& function : graph.library().function()) {
    CHECK(functions.insert(function.signature().name()).second);
    std::set<std::string> arguments;
    for (const auto& argument : function.signature().input_arg()) arguments.insert(argument.name());
    check_body(function.node_def(), arguments);
  }
  for (const NodeDef& node : graph.node())
    for (const auto& [name, value] : node.attr())
      if (value.has_func()) CHECK(functions.contains(value.func().name()));
}

std::map<std::string, NodeDef> by_name(const GraphDef& graph) {
  std::map<std::string, NodeDef> nodes;
  for (const NodeDef& node : graph.node()) nodes[node.name()] = node;
  return nodes;
}

TEST_CASE("any edits that can be made keep the program whole") {
  std::map<EditKind, int> made;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    std::vector<std::string> names;
    const GraphDef before = program_of(chain(dice, 2 + dice.below(8), names));
    std::vector<Edit> edits;
    for (std::size_t i = 0; i < 60; ++i) {
      edits.push_back(random_edit(dice, names, i));
      if (!can_be_made(before, edits)) edits.pop_back();
    }
    for (const Edit& edit : edits) ++made[edit.kind];
    const GraphDef after = apply_plan(before, {"", edits, {}});
    INFO("seed " << seed << "\n" << describe(before) << "\n->\n" << describe(after));
    check_program(after);
    const auto old_batch = by_name(before).at("batch");
    const auto new_batch = by_name(after).at("batch");
    CHECK(program_text::spec_text(new_batch) == program_text::spec_text(old_batch));
    CHECK(describe(apply_plan(after, {})) == describe(after));
  }
  for (const std::string& word : edit_words()) {
    INFO(word);
    CHECK(made[*edit_kind(word)] >= 3);
  }
}

TEST_CASE("changing one reader's constant leaves the other readers theirs") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Dice dice(seed);
    std::vector<std::string> names;
    const GraphDef before = program_of(chain(dice, 8, names));
    const auto old_nodes = by_name(before);
    for (const std::string& name : names) {
      const bool is_map = old_nodes.at(name).op() == "ParallelMapDatasetV2";
      const bool is_prefetch = old_nodes.at(name).op() == "PrefetchDataset";
      if (!is_map && !is_prefetch) continue;
      const EditKind kind = is_map ? EditKind::kSetParallelism : EditKind::kSetBuffer;
      const Edit edit{"E1", kind, name, "", std::int64_t{9}, "", std::nullopt, ""};
      const auto new_nodes = by_name(apply_plan(before, {"", {edit}, {}}));
      for (const auto& [other, node] : old_nodes)
        if (other != name && node.op() != "CacheDatasetV2")
          CHECK(program_text::node_text(new_nodes.at(other)) == program_text::node_text(node));
    }
  }
}

TEST_CASE("a chain of 20,000 nodes with an edit at each takes no stack and no square of time") {
  std::string text = "two = 2\nn0 = RangeDataset(two) : int64\n";
  std::vector<Edit> edits;
  for (int i = 1; i <= 20000; ++i) {
    const std::string name = fmt::format("n{}", i);
    text +=
        fmt::format("{} = MapDataset(n{}, two) Targuments=[int64] f=@add : int64\n", name, i - 1);
    edits.push_back({fmt::format("E{}", i), i % 2 ? EditKind::kInline : EditKind::kInsertPrefetch,
                     name, "", std::int64_t{2}, "", std::nullopt, ""});
  }
  text +=
      "root = _Retval(n20000)\ndef add(x: int64, y: int64) -> z: int64 = sum:z:0\n  sum = AddV2(x, "
      "y)\n";
  const GraphDef after = apply_plan(program_of(text), {"", edits, {}});
  CHECK(after.node_size() == 20000 + 3 + 2 * 10000);
}

}  // namespace
}  // namespace plumber
