// SPDX-License-Identifier: Apache-2.0
// What a plan is refused for, all faults at once; what holds for every rewritten program.
#include "rewrite/apply_plan.h"

#include "base/error.h"
#include "catch2_any.h"
#include "pipeline/fingerprint.h"
#include "program_text.h"
#include "rewrite/write.h"

namespace plumber {
namespace {

const std::string kProgram = R"(stop = 10
range = RangeDataset(stop) : int64
cycle = 2
inter = InterleaveDataset(range, cycle, cycle) Targuments=[] f=@read : int64
map = MapDataset(inter) Targuments=[] f=@choose : int64
opaque = MysteryDataset(map)
filter = FilterDataset(opaque) Targuments=[] predicate=@gone : int64
root = _Retval(filter)
def read(x: int64) -> d: variant = range:handle:0
  range = RangeDataset(x) : int64
def choose(x: int64) -> y: int64 = call:output:0
  call = PartitionedCall(x) f=@branch
def branch(x: int64) -> y: int64 = if:output:0
  if = StatelessIf(x, x)
)";

Edit edit(const std::string& id, EditKind kind, const std::string& node, EditValue value = {},
          const std::string& to = "") {
  return {id, kind, node, to, std::move(value), "", std::nullopt, ""};
}

std::string error_of(const std::vector<Edit>& edits, const std::string& fingerprint = "") {
  try {
    apply_plan(program_of(kProgram), {fingerprint, edits, {}});
  } catch (const Error& error) {
    return format(error);
  }
  return "no error";
}

TEST_CASE("a plan for another program is refused") {
  const tensorflow::GraphDef graph = program_of(kProgram);
  const Plan plan{graph_fingerprint(graph), {}, {}};
  CHECK(describe(apply_plan(graph, plan)) == kProgram);
  CHECK(error_of({}, "0123456789abcdef") ==
        "plumber: error: plan: it was made for another program (0123456789abcdef, this one is " +
            plan.graph_fingerprint +
            ")\nhint: run 'plumber optimize' on the trace that is to be rewritten");
}

TEST_CASE("one fault is an error of its own") {
  CHECK(error_of({edit("E1", EditKind::kInsertPrefetch, "mapp", std::int64_t{2})}) ==
        "plumber: error: plan: edit E1 (insert_prefetch): node 'mapp': the program has no such "
        "node\nhint: did you mean 'map'?");
}

TEST_CASE("all faults are told at once, each with its way out") {
  const std::int64_t two = 2;
  CHECK(error_of({
            edit("E1", EditKind::kSetParallelism, "map", two),
            edit("E2", EditKind::kConvert, "inter", std::int64_t{3}, "ParallelInterleaveDatasetV4"),
            edit("E3", EditKind::kConvert, "map", two, "ParallelBatchDataset"),
            edit("E4", EditKind::kSequential, "map"),
            edit("E5", EditKind::kInline, "map"),
            edit("E6", EditKind::kInline, "filter"),
            edit("E7", EditKind::kPassThroughFilter, "filter"),
            edit("E8", EditKind::kUnfuse, "map"),
            edit("E9", EditKind::kInsertPrefetch, "opaque", two),
            edit("E10", EditKind::kInsertPrefetch, "map", "two"),
            edit("E11", EditKind::kInsertCache, "inter>range"),
            edit("E12", EditKind::kRemove, "map"),
            edit("E13", EditKind::kReorder, "map", {}, "filter"),
            edit("E14", EditKind::kMoveIntoFunction, "map", {}, "range"),
            edit("E15", EditKind::kSetOptions, "", true, "autotune.enable"),
            edit("E16", EditKind::kSetOptions, "", two, "autotune.enabled"),
            edit("E17", EditKind::kInsertPrefetch, "stop", two),
            edit("E18", EditKind::kConvert, "filter", two, "ParallelFilterDataset"),
        }) ==
        R"(plumber: error: plan: 18 edits cannot be made
  edit E1 (set_parallelism): node 'map': MapDataset has no number of parallel calls (convert it to its parallel op first)
  edit E2 (convert): node 'inter': 3 calls are more than its cycle_length of 2 (give 2 or fewer; another cycle_length changes the order)
  edit E3 (convert): node 'map': MapDataset cannot become 'ParallelBatchDataset' (it can become ParallelMapDatasetV2)
  edit E4 (sequential): node 'map': MapDataset has no sequential op
  edit E5 (inline): node 'map': its function reaches control flow (StatelessIf), which TensorFlow runs dispatched only (leave it dispatched, or make it parallel)
  edit E6 (inline): node 'filter': FilterDataset is no map (use pass_through_filter)
  edit E7 (pass_through_filter): node 'filter': FilterDataset is no filter with a function
  edit E8 (unfuse): node 'map': MapDataset is no map and batch in one
  edit E9 (insert_prefetch): node 'opaque': the elements' types of 'opaque' (MysteryDataset) are not known (name a data set that has the attributes output_types and output_shapes)
  edit E10 (insert_prefetch): node 'map': the value is no buffer size (give 1 or more, or -1 for AUTOTUNE)
  edit E11 (insert_cache): node 'inter>range': a cache inside a function is empty again at every call (put the cache above the node that calls the function)
  edit E12 (remove): node 'map': MapDataset does more than pass its input on
  edit E13 (reorder): node 'map': 'map' and 'filter' do not read each other
  edit E14 (move_into_function): node 'map': 'range' is a RangeDataset, no interleave
  edit E15 (set_options): tf.data.Options has no field 'autotune.enable' (did you mean 'autotune.enabled'?)
  edit E16 (set_options): the value does not fit tf.data.Options.autotune.enabled (its type is bool)
  edit E17 (insert_prefetch): node 'stop': this is no data set but an op Const ('plumber show' lists the nodes of a program)
  edit E18 (convert): node 'filter': TensorFlow runs a ParallelFilterDataset with its default rewrites off only (set experimental_optimization.apply_default_optimizations to false, or use pass_through_filter)
hint: nothing was written; mend or drop these edits)");
}

TEST_CASE("a removed node is told by the edit that removed it") {
  const std::string program = R"(stop = 10
range = RangeDataset(stop) : int64
pre = PrefetchDataset(range, stop) : int64
root = _Retval(pre)
)";
  const Plan plan{"",
                  {edit("E1", EditKind::kRemove, "pre"),
                   edit("E2", EditKind::kSetBuffer, "pre", std::int64_t{2})},
                  {}};
  CHECK_THROWS_WITH(apply_plan(program_of(program), plan), "edit E1 has removed this node");
}

TEST_CASE("programs without a root, or with a name twice, are refused") {
  CHECK_THROWS_WITH(apply_plan(program_of("stop = 10\n"), {}), "it has no root: no _Retval node");
  CHECK_THROWS_WITH(apply_plan(program_of("a = 10\na = 11\n"), {}), "two nodes are named 'a'");
}

TEST_CASE("unknown fields survive in the binary form, one program has one form") {
  tensorflow::GraphDef graph = program_of(kProgram);
  auto* node = graph.mutable_node(1);
  node->GetReflection()->MutableUnknownFields(node)->AddVarint(99, 7);
  const std::string bytes = graph_bytes(apply_plan(graph, {}));
  CHECK(bytes == graph_bytes(graph));
  tensorflow::GraphDef again;
  REQUIRE(again.ParseFromString(bytes));
  const auto& unknown = node->GetReflection()->GetUnknownFields(again.node(1));
  REQUIRE(unknown.field_count() == 1);
  CHECK(unknown.field(0).varint() == 7);
  tensorflow::GraphDef from_text;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(graph_text(graph), &from_text));
  CHECK(describe(from_text) == kProgram);
}

}  // namespace
}  // namespace plumber
