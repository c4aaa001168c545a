// SPDX-License-Identifier: Apache-2.0
// What optimize plans, rewrite makes: on chains of stages drawn at random, batches of batches and
// of elements of unknown shapes or sparse ones among them, and scalars that are computed or stand
// behind an Identity, with costs drawn at random; and so of every move that is legal, whatever it
// brings.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <random>

#include "base/error.h"
#include "catch2_any.h"
#include "optimize/chunk_candidates.h"
#include "optimize/move_candidates.h"
#include "optimize/optimize.h"
#include "program_text.h"
#include "rewrite/apply_plan.h"

namespace plumber {
namespace {

const std::string kConstants =
    "two = 2\nseven = 7\nmany = 6000\nzero = 0\nno = false\nyes = true\nmemory = \"\"\n"
    "handle = resource \"MemoryCache_0\"\n"
    "two_same = Identity(two)\nseven_same = Identity(seven)\nno_same = Identity(no)\n"
    "yes_same = Identity(yes)\ntwo_computed = Abs(two)\nseven_computed = Abs(seven)\n"
    "no_computed = LogicalNot(yes)\nyes_computed = LogicalNot(no)\n";

const std::string kFunctions = R"(def twice(x: int64) -> z: int64 = sum:z:0
  sum = AddV2(x, x)
def pair(x: int64) -> z: int64 = pack:output:0
  pack = Pack(x, x) N=2 axis=0
def same(x: int64) -> z: int64 = x
def flat(x: int64) -> z: int64 = r:output:0
  minus = -1
  r = Reshape(x, minus:output:0)
def plus(x: int64, y: int64) -> z: int64 = sum:z:0
  sum = AddV2(x, y)
def drawn(x: int64) -> z: int64 = sum:z:0
  r = RandomUniformInt(x, x, x)
  sum = AddV2(x, r:output:0)
def even(x: int64) -> z: bool = test:z:0
  test = Equal(x, x)
def read(x: int64) -> d: variant = slices:handle:0
  slices = RangeDataset(x, x, x) : int64
)";

/// A program of one chain, and counters for its nodes.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : engine_(seed) {
    const bool sparse = one_in(6);
    if (one_in(2)) digits_ = 2;
    type_ = sparse ? "variant" : "int64";
    shape_ = sparse ? std::vector<std::string>{} : of(kShapes);
    add("RangeDataset(zero, many, two)", 4096);
    const std::size_t stages = 2 + below(7);
    for (std::size_t i = 0; i < stages; ++i) add_stage();
    text_ += "root = _Retval(" + top() + ")\n";
  }

  std::string text() const { return kConstants + text_ + kFunctions; }

  Trace trace() const {
    Trace trace;
    trace.name = "random.pb";
    trace.dialect = Dialect::kOpstats;
    trace.graph = std::make_shared<tensorflow::GraphDef>(program_of(text()));
    trace.machine.cores = 16;
    Dump dump;
    dump.time_s = dump.process_cpu_s = 10;
    dump.ops = counters_;
    trace.dumps.push_back(dump);
    return trace;
  }

  double uniform() { return static_cast<double>(engine_()) / 4294967296.0; }

 private:
  static const std::vector<std::vector<std::string>> kShapes;

  std::size_t below(std::size_t end) { return engine_() % end; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& items) {
    return items[below(items.size())];
  }

  std::string top() const { return counters_.back().name; }

  // The constant itself, mostly.
  std::string scalar(const std::string& name) {
    if (!one_in(4)) return name;
    return name + (one_in(2) ? "_same" : "_computed");
  }

  void add(const std::string& node, double elements) {
    const std::string name = fmt::format("n{}", counters_.size());
    std::string spec = type_;
    if (!shape_.empty()) spec += fmt::format("[{}]", fmt::join(shape_, ","));
    text_ += fmt::format("{} = {} : {}\n", name, node, spec);
    OpCounters counters;
    counters.name = name;
    counters.elements = std::max(1.0, elements);
    counters.service_s = counters.cpu_s =
        counters.elements * 1e-7 * std::pow(10, digits_ * uniform());
    counters.bytes_produced = counters.elements * std::pow(10, 1 + 4 * uniform());
    counters_.push_back(counters);
  }

  void add_stage() {
    const double elements = counters_.back().elements;
    switch (below(8)) {
      case 0:
      case 1:
        return add_map(elements);
      case 2:
      case 3:
        return add_batch(elements);
      case 4:
        return add_unbatch(elements);
      case 5:
        if (type_ == "variant") return;
        return add(fmt::format("FilterDataset({}) Targuments=[] predicate=@even", top()), elements);
      case 6:
        if (type_ != "int64" || !one_in(3)) return;
        shape_ = {};
        return add_interleave(7 * elements);
      default:
        return add_passing(elements);
    }
  }

  void add_interleave(double elements) {
    const std::string cycle = scalar("two"), calls = scalar("two");
    if (one_in(2))
      return add(
          fmt::format("InterleaveDataset({}, {}, seven) Targuments=[] f=@read", top(), cycle),
          elements);
    add(fmt::format("ParallelInterleaveDatasetV4({}, {}, seven, two, two, {}) Targuments=[] "
                    "deterministic=\"true\" f=@read",
                    top(), cycle, calls),
        elements);
  }

  void add_map(double elements) {
    if (type_ == "variant") {
      type_ = "int64";  // made dense, of some length
      shape_ = of(kShapes);
      return add(fmt::format("MapDataset({}) Targuments=[] f=@flat", top()), elements);
    }
    const std::string f =
        of<std::string>({"twice", "twice", "twice", "pair", "same", "flat", "drawn"});
    const bool unranked = shape_ == std::vector<std::string>{"*"};
    if (f == "pair" && !unranked) shape_.insert(shape_.begin(), "2");
    if (f == "flat") shape_ = {"?"};
    if (one_in(5))
      return add(fmt::format("MapDataset({}, two) Targuments=[int64] f=@plus", top()), elements);
    if (one_in(3))
      return add(fmt::format("ParallelMapDatasetV2({}, {}) Targuments=[] "
                             "deterministic=\"default\" f=@{}",
                             top(), scalar("two"), f),
                 elements);
    add(fmt::format("MapDataset({}) Targuments=[] f=@{}", top(), f), elements);
  }

  void add_batch(double elements) {
    const bool drops = one_in(2), seven = one_in(2);
    const std::string size = scalar(seven ? "seven" : "two");
    if (shape_ != std::vector<std::string>{"*"})
      shape_.insert(shape_.begin(), !drops ? "?" : seven ? "7" : "2");
    if (type_ == "variant") shape_ = {"*"};
    const std::string flag = scalar(drops ? "yes" : "no");
    elements /= seven ? 7 : 2;
    if (one_in(4))
      return add(fmt::format("ParallelBatchDataset({}, {}, {}, {}) deterministic=\"true\"", top(),
                             size, scalar("two"), flag),
                 elements);
    add(fmt::format("BatchDatasetV2({}, {}, {})", top(), size, flag), elements);
  }

  void add_unbatch(double elements) {
    if (shape_.empty()) return;
    if (shape_ != std::vector<std::string>{"*"}) shape_.erase(shape_.begin());
    if (type_ == "variant") shape_ = {};
    add(fmt::format("UnbatchDataset({})", top()), elements * 3);
    if (one_in(2)) add_batch(elements * 3);
  }

  void add_passing(double elements) {
    switch (below(7)) {
      case 0:
        return add(fmt::format("ShardDataset({}, {}, zero)", top(), scalar("two")), elements / 2);
      case 1:
        return add(fmt::format("SkipDataset({}, {})", top(), scalar("seven")), elements);
      case 2:
        return add(fmt::format("TakeDataset({}, many)", top()), elements);
      case 3:
        return add(fmt::format("RepeatDataset({}, {})", top(), scalar("two")), elements * 2);
      case 4:
        return add(fmt::format("PrefetchDataset({}, {})", top(), scalar("two")), elements);
      case 5:
        return add(fmt::format("CacheDatasetV2({}, memory, handle)", top()), elements);
      default:
        return add_shuffle(elements);
    }
  }

  void add_shuffle(double elements) {
    const std::string seeds = fmt::format("seeds{}", counters_.size());
    text_ += fmt::format("{0} = resource \"{0}\"\n", seeds);
    add(fmt::format("ShuffleDatasetV3({}, seven, two, seven, {}) reshuffle_each_iteration=false",
                    top(), seeds),
        elements);
  }

  std::mt19937 engine_;
  double digits_ = 4;  // of the costs: from 0.1 us an element on
  std::string text_, type_;
  std::vector<std::string> shape_;  // of an element; a "?" is not known, "*" not even the rank
  std::vector<OpCounters> counters_;
};

const std::vector<std::vector<std::string>> RandomProgram::kShapes = {
    {}, {}, {}, {}, {"3"}, {"3"}, {"2", "3"}, {"?"}, {"*"}};

OptimizeOptions options_for(RandomProgram& program) {
  OptimizeOptions options;
  options.limits.cores = std::floor(1 + 40 * program.uniform());
  options.limits.memory_bytes = std::pow(10, 6 + 4 * program.uniform());
  options.allow_cache = program.uniform() < 0.4;
  if (program.uniform() < 0.3)
    options.permissions = {Permission::kUnfreeze, Permission::kStatefulParallel};
  return options;
}

std::string why_refused(const tensorflow::GraphDef& graph, const Plan& plan) {
  try {
    apply_plan(graph, plan);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// A candidate at random, and another one of what it makes, and so on.
std::vector<Edit> random_moves(Moved now, const OptimizeOptions& options, RandomProgram& program) {
  std::vector<Edit> edits;
  for (int step = 0; step < 4; ++step) {
    const bool chunks = step == 3 && program.uniform() < 0.5;
    std::vector<MoveCandidate> legal =
        (chunks ? find_chunks(now, options) : find_moves(now, options)).legal;
    std::erase_if(legal, [](const MoveCandidate& c) { return c.needs.has_value(); });
    if (legal.empty()) continue;
    const double place = program.uniform() * static_cast<double>(legal.size());
    MoveCandidate& chosen = legal[static_cast<std::size_t>(place)];
    edits.insert(edits.end(), chosen.edits.begin(), chosen.edits.end());
    if (chosen.hit_share > 0) break;  // a partial cache copies what is below it: the last move
    now = std::move(chosen.moved);
  }
  return edits;
}

TEST_CASE("every move that is legal, rewrite makes, and every move after it") {
  std::map<EditKind, int> made;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomProgram program(seed);
    const Trace trace = program.trace();
    const Pipeline pipeline = build_pipeline(trace);
    const OptimizeOptions options = options_for(program);
    Analysis analysis = analyze(pipeline, {});
    analysis.costs.hand_off_known = true;
    const std::vector<Edit> edits = random_moves({pipeline, analysis}, options, program);
    std::string moves;
    for (const Edit& edit : edits) {
      ++made[edit.kind];
      moves += fmt::format("{} {} {}\n", edit_word(edit.kind), edit.node, edit.to);
    }
    INFO("seed " << seed << "\n" << program.text() << moves);
    CHECK(why_refused(*trace.graph, {"", edits, {}}) == "");
  }
  for (const EditKind kind : {EditKind::kReorder, EditKind::kRemove, EditKind::kConvert,
                              EditKind::kInsertChunks, EditKind::kMoveIntoFunction}) {
    INFO(edit_word(kind));
    CHECK(made[kind] >= 20);
  }
}

TEST_CASE("what optimize plans, rewrite makes") {
  std::map<EditKind, int> planned;
  for (unsigned seed = 0; seed < 500; ++seed) {
    RandomProgram program(seed);
    const Trace trace = program.trace();
    const Pipeline pipeline = build_pipeline(trace);
    Analysis analysis = analyze(pipeline, {});
    analysis.costs.hand_off_known = program.uniform() < 0.8;
    const OptimizeResult result = optimize(pipeline, analysis, options_for(program));
    for (const Edit& edit : result.plan.edits) ++planned[edit.kind];
    INFO("seed " << seed << "\n" << program.text());
    CHECK(why_refused(*trace.graph, result.plan) == "");
  }
  for (const EditKind kind : {EditKind::kRemove, EditKind::kConvert, EditKind::kInsertPrefetch}) {
    INFO(edit_word(kind));
    CHECK(planned[kind] >= 20);
  }
}

}  // namespace
}  // namespace plumber
