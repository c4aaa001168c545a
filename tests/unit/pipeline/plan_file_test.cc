// SPDX-License-Identifier: Apache-2.0
// Plan files: what is read, and what each fault is told as.
#include "pipeline/plan_file.h"

#include "base/error.h"
#include "catch2_any.h"

namespace plumber {
namespace {

std::string error_of(const std::string& text) {
  try {
    read_plan("plan.json", text);
  } catch (const Error& error) {
    CHECK(error.kind == ErrorKind::kInput);
    return format(error);
  }
  return "no error";
}

std::string error_of_edit(const std::string& edit) {
  return error_of(R"({"schema_version": 1, "graph_fingerprint": "", "edits": [)" + edit + "]}");
}

TEST_CASE("a plan as optimize writes it") {
  const Plan plan = read_plan("plan.json", R"({
    "schema_version": 1, "graph_fingerprint": "91f0c2d3e4a5b697", "model": "default",
    "status": "optimal", "limits": {"cores": 2},
    "edits": [
      {"id": "E1", "edit": "set_parallelism", "node": "ParallelMapDatasetV2/_14", "to": "",
       "value": 2, "reason": "busy", "gain_per_s": 12.5, "python": "num_parallel_calls=2"},
      {"edit": "insert_cache", "node": "BatchDatasetV2/_24", "to": "cached.bin", "value": null,
       "gain_per_s": null},
      {"id": "E3", "edit": "set_options", "to": "autotune.enabled", "value": false},
      {"id": "E4", "edit": "set_options", "to": "dataset_name", "value": "train", "new_key": []}
    ],
    "environment": {"TF_NUM_INTRAOP_THREADS": "1"}, "permissions": ["frozen-order"], "rejected": [], "warnings": []})");
  const std::vector<Edit> edits = {
      {"E1", EditKind::kSetParallelism, "ParallelMapDatasetV2/_14", "", std::int64_t{2}, "busy",
       12.5, "num_parallel_calls=2"},
      {"E2", EditKind::kInsertCache, "BatchDatasetV2/_24", "cached.bin", {}, "", std::nullopt, ""},
      {"E3", EditKind::kSetOptions, "", "autotune.enabled", false, "", std::nullopt, ""},
      {"E4", EditKind::kSetOptions, "", "dataset_name", "train", "", std::nullopt, ""}};
  CHECK(plan ==
        Plan{"91f0c2d3e4a5b697", edits, {{"TF_NUM_INTRAOP_THREADS", "1"}}, {"frozen-order"}});
}

TEST_CASE("what is no JSON is told by line and column") {
  CHECK(error_of("{\"schema_version\": 1,\n  \"edits\": [,]}") ==
        "plumber: error: plan.json:2:13: no JSON: syntax error while parsing value - unexpected "
        "','; expected '[', '{', or a literal\n"
        "hint: a plan is what 'plumber optimize -o plan.json' writes");
  CHECK(error_of("") ==
        "plumber: error: plan.json:1:1: no JSON: syntax error while parsing value - unexpected "
        "end of input; expected '[', '{', or a literal\n"
        "hint: a plan is what 'plumber optimize -o plan.json' writes");
}

TEST_CASE("what is no plan") {
  const std::string hint = "\nhint: a plan is what 'plumber optimize -o plan.json' writes";
  CHECK(error_of("[]") == "plumber: error: plan.json: it is not a JSON object" + hint);
  CHECK(error_of("{}") ==
        "plumber: error: plan.json: the key \"schema_version\" is missing" + hint);
  CHECK(error_of(R"({"schema_version": "1"})") ==
        "plumber: error: plan.json: \"schema_version\" is not a version number" + hint);
  CHECK(error_of(R"({"schema_version": 2})") ==
        "plumber: error: plan.json: schema_version 2 is newer than this plumber reads (1)\n"
        "hint: use the plumber that wrote the plan, or a newer one");
  CHECK(error_of(R"({"schema_version": 1, "edits": []})") ==
        "plumber: error: plan.json: the key \"graph_fingerprint\" is missing" + hint);
  CHECK(error_of(R"({"schema_version": 1, "graph_fingerprint": "", "edits": {}})") ==
        "plumber: error: plan.json: \"edits\" is not a list" + hint);
  CHECK(error_of(R"({"schema_version": 1, "graph_fingerprint": 7, "edits": []})") ==
        "plumber: error: plan.json: \"graph_fingerprint\" is not a text");
  CHECK(error_of(R"({"schema_version": 1, "graph_fingerprint": "", "edits": [],
                     "environment": {"A": 1}})") ==
        "plumber: error: plan.json: environment: \"A\" is not a text");
  CHECK(error_of(R"({"schema_version": 1, "graph_fingerprint": "", "edits": [],
                     "permissions": "unfreeze"})") ==
        "plumber: error: plan.json: \"permissions\" is not a list");
}

TEST_CASE("faults of an edit") {
  const std::string where = "plumber: error: plan.json: edits[0]: ";
  CHECK(error_of_edit("7") == where + "it is not an object");
  CHECK(error_of_edit(R"({"edit": "insert_prefech", "node": "a"})") ==
        where + "there is no edit 'insert_prefech'\nhint: did you mean 'insert_prefetch'?");
  CHECK(error_of_edit(R"({"edit": "vectorise", "node": "a"})") ==
        where +
            "there is no edit 'vectorise'\nhint: edits are set_parallelism, convert, "
            "sequential, inline, parallel_inline, parallel_unbounded, pass_through_filter, "
            "move_into_function, unfuse, insert_prefetch, set_buffer, insert_cache, rehome_cache, "
            "reorder, "
            "remove, set_options, balance, insert_partial_cache, insert_chunks, lengthen_cycle");
  CHECK(error_of_edit(R"({"edit": "inline"})") ==
        where +
            "the key \"node\" is missing\n"
            "hint: a plan is what 'plumber optimize -o plan.json' writes");
  CHECK(error_of_edit(R"({"edit": "inline", "node": 1})") == where + "\"node\" is not a text");
  CHECK(error_of_edit(R"({"edit": "set_buffer", "node": "a", "value": 2.5})") ==
        where + "\"value\" is no whole number, text, true, false or null");
  CHECK(error_of_edit(R"({"edit": "set_buffer", "node": "a", "value": 18446744073709551615})") ==
        where + "\"value\" is too large\nhint: give a whole number below 2^63");
  CHECK(error_of_edit(R"({"edit": "inline", "node": "a", "gain_per_s": "1"})") ==
        where + "\"gain_per_s\" is not a number");
  CHECK(error_of_edit(R"({"id": "E2", "edit": "inline", "node": "a"},
                         {"edit": "inline", "node": "b"})") ==
        "plumber: error: plan.json: edits[1]: the id 'E2' is there twice\n"
        "hint: give every edit an id of its own, or none");
}

TEST_CASE("every kind of edit has a word, and every word a kind") {
  std::size_t count = 0;
  for (const std::string& word : edit_words()) {
    const auto kind = edit_kind(word);
    REQUIRE(kind);
    CHECK(static_cast<std::size_t>(*kind) == count++);
    CHECK(edit_word(*kind) == word);
  }
  CHECK(count == static_cast<std::size_t>(EditKind::kLengthenCycle) + 1);
  CHECK(edit_kind("nothing") == std::nullopt);
}

}  // namespace
}  // namespace plumber
