// SPDX-License-Identifier: Apache-2.0
// Tables and JSON documents: what is wrong with them is said with file, line and column.
#include "base/error.h"
#include "catch2_any.h"
#include "cluster/model_file.h"
#include "cluster/runs.h"
#include "cluster/search_state.h"

using namespace plumber;

namespace {

template <class Read>
std::string refusal(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    return format(error);
  }
  return "";
}

std::string of_table(const std::string& text) {
  return refusal([&] { read_runs(parse_table(text, "runs.csv")); });
}

std::string of_state(const std::string& text) {
  return refusal([&] { parse_search_state(text, "state.json"); });
}

std::string of_job(const std::string& text) {
  return refusal([&] { parse_job(text, "job.json"); });
}

const std::string kNeeded = "hint: every row needs a number above 0 there";

}  // namespace

TEST_CASE("A byte-order mark, CR LF, quotes, blanks and comments are no part of a table") {
  const InputTable table = parse_table(
      "\xEF\xBB\xBF# made by a spreadsheet\r\n\r\n\"workers\" , global_batch,machine\r\n"
      "8, 384 ,\"big, \"\"red\"\"\"\r\n",
      "runs.csv");
  CHECK(table.header->columns == std::vector<std::string>{"workers", "global_batch", "machine"});
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0].line == 4);
  CHECK(*number_in(table.rows[0], "global_batch") == 384);
  CHECK(*text_in(table.rows[0], "machine") == "big, \"red\"");
  CHECK(table.rows[0].where("machine") == "runs.csv:4:9");
}

TEST_CASE("What is wrong with a table has its place, its cause and a way out") {
  CHECK(of_table("") ==
        "plumber: error: runs.csv:1:1: the table has no rows\n"
        "hint: write a line with the names of the columns, then a line a row");
  CHECK(of_table("workers;global_batch\n8;384\n") ==
        "plumber: error: runs.csv:1:8: semicolons or tabs separate the columns\n"
        "hint: write commas between them, and points in numbers");
  CHECK(of_table("workers\tglobal_batch\n8\t384\n") ==
        "plumber: error: runs.csv:1:8: semicolons or tabs separate the columns\n"
        "hint: write commas between them, and points in numbers");
  CHECK(of_table("[{\"workers\": 8},\n{\"workers\": 16}]\n") ==
        "plumber: error: runs.csv:1:1: a JSON array is no table\n"
        "hint: write one object a line");
  CHECK(of_table("workers,workers\n1,2\n") ==
        "plumber: error: runs.csv:1:9: column 'workers' is there twice\nhint: keep one of them");
  CHECK(of_table("workers,global_batch\n8,384,9\n") ==
        "plumber: error: runs.csv:2:7: 3 fields, but the header has 2\n"
        "hint: a field with a comma in it needs quotes");
  CHECK(of_table("workers,global_batch\n8\n") ==
        "plumber: error: runs.csv:2:2: 1 fields, but the header has 2\n"
        "hint: leave a field empty, not out");
  CHECK(of_table("workers,global_batch\n8,\"384\n") ==
        "plumber: error: runs.csv:2:3: a quoted field does not end in its line\n"
        "hint: close the quotes; a quote within a field is doubled");
  CHECK(of_table("workers,global_batch\n0,384\n") ==
        "plumber: error: runs.csv:2:1: column 'workers': 0 is not above 0\n" + kNeeded);
  CHECK(of_table("workers,global_batch,noise\n8,384,0\n") ==
        "plumber: error: runs.csv:2:7: column 'noise': 0 is not above 0\n"
        "hint: leave the field empty where it is not known");
  CHECK(of_table("workers,global_batch\n8,nan\n") ==
        "plumber: error: runs.csv:2:3: column 'global_batch': 'nan' is not a number\n"
        "hint: write it like 0.25 or 1e-3, or leave the field empty");
  CHECK(of_table("workers,global_batch,iteration_s\n8,384,1e308\n") ==
        "plumber: error: runs.csv:2:7: column 'iteration_s': 1e+308 is beyond all measure\n"
        "hint: check its unit: times are in seconds");
  CHECK(of_table("workers,global_batch,epoch\n8,384,12\n") ==
        "plumber: error: runs.csv:1:22: unknown column 'epoch'\n"
        "hint: did you mean 'epochs'? rename the column, or leave it out");
  CHECK(of_table("workers,global_batch,iteration_s,compute_s\n8,384,1,2\n") ==
        "plumber: error: runs.csv:2:9: a part of the iteration takes 2 s, the whole 1 s\n"
        "hint: iteration_s is one step of all workers, its parts included");
  CHECK(of_table("workers,global_batch,note\n8,384,anything\n").empty());
}

TEST_CASE("Workers and machines are counted, means over runs are none") {
  CHECK(of_table("workers,global_batch,nodes\n8,384,2\n8.5,384,2\n") ==
        "plumber: error: runs.csv:3:1: column 'workers': 8.5 is not a whole number\n"
        "hint: a mean over several runs is no run: give a row each");
  CHECK(of_table("workers,global_batch,nodes\n8,384,2.5\n") ==
        "plumber: error: runs.csv:2:7: column 'nodes': 2.5 is not a whole number\n"
        "hint: a mean over several runs is no run: give a row each");
}

TEST_CASE("Synchronisation as long as the iteration hides what compute takes") {
  const auto runs = read_runs(
      parse_table("workers,global_batch,iteration_s,sync_s\n8,384,2,2\n8,384,2,2.05\n8,384,2,.5\n",
                  "runs.csv"));
  CHECK(!runs[0].compute_s);
  CHECK(!runs[1].compute_s);
  CHECK(*runs[2].compute_s == 1.5);
}

TEST_CASE("JSON lines are tables too") {
  const InputTable table = parse_table(
      "{\"workers\": 8, \"global_batch\": 384}\n"
      "{\"global_batch\": 512, \"workers\": 12, \"noise\": null}\n",
      "runs.jsonl");
  CHECK(table.rows.size() == 2);
  CHECK(*number_in(table.rows[1], "workers") == 12);
  CHECK(of_table("{\"workers\": 8, \"global_batch\": \"many\"}\n") ==
        "plumber: error: runs.csv:1:16: column 'global_batch': 'many' is not a number\n"
        "hint: write it like 0.25 or 1e-3, or leave the field empty");
  CHECK(of_table("{\"workers\": 8}\n{\"workers\": [8]}\n") ==
        "plumber: error: runs.csv:2:2: 'workers' is not a plain value\n"
        "hint: give a number or a text");
  CHECK(of_table("{\"workers\": 8}\n{\"workers\" 8}\n").find("runs.csv:2:12: no JSON: ") !=
        std::string::npos);
}

TEST_CASE("What is wrong with a JSON document has its place") {
  CHECK(of_job("{\n  \"samples\": \"many\"\n}") ==
        "plumber: error: job.json:2:14: samples: not a number\n"
        "hint: a job is a JSON object such as {\"samples\": 50000}");
  CHECK(of_job("{\n  \"samples\": 50000,\n  \"sample\": 1}") ==
        "plumber: error: job.json:3:13: unknown member 'sample'\nhint: did you mean 'samples'?");
  CHECK(of_job("[1]") ==
        "plumber: error: job.json:1:1: not a JSON object\n"
        "hint: a job is a JSON object such as {\"samples\": 50000}");
  CHECK(of_job("{\"samples\": 1e999}") ==
        "plumber: error: job.json:1:13: the number 1e999 is too large\n"
        "hint: a job is a JSON object such as {\"samples\": 50000}");
  CHECK(of_job("{\"samples\": 5,\n \"samples\": 6}") ==
        "plumber: error: job.json:2:2: this member is there twice\nhint: keep one of them");
  CHECK(of_job("{\"samples\": 5, \"e_star\": 3}") ==
        "plumber: error: job.json:1:26: e_star: it needs theta too\n"
        "hint: epochs = e_star + theta * noise");
  CHECK(of_job("{\"samples\": 5,}").find("plumber: error: job.json:1:15: no JSON: ") == 0);
  const std::string deep =
      "{\"note\": " + std::string(1000000, '[') + std::string(1000000, ']') + "}";
  CHECK(of_job(deep).find("job.json:1:41: nested deeper than 32 levels") != std::string::npos);
}

TEST_CASE("A state's runs are refused at their place") {
  const std::string head = R"({"workers": [8, 16], "batches": [384, 1024],
  "usd_per_hour": 0.1, "runs": [{"workers": 8, "global_batch": 384, "iteration_s": 1},
    {"workers": 8,
     "global_batch": )";
  CHECK(of_state(head + "-1}]}") ==
        "plumber: error: state.json:4:22: column 'global_batch': -1 is not above 0\n" + kNeeded);
  CHECK(of_state(head + "384, \"noize\": 1}]}") ==
        "plumber: error: state.json:4:36: unknown member 'noize'\nhint: did you mean 'noise'?");
  CHECK(of_state(R"({"workers": [8, 0], "batches": [384], "usd_per_hour": 1})") ==
        "plumber: error: state.json:1:17: workers[1]: not above 0\n"
        "hint: docs/cluster.md shows the state of a search");
  CHECK(of_state(R"({"workers": [8], "batches": [384], "usd_per_hour": 1, "policy": "all"})") ==
        "plumber: error: state.json:1:65: policy: unknown policy 'all'\n"
        "hint: policies: full, partial, none");
  CHECK(of_state(R"({"workers": [8], "batches": [384]})") ==
        "plumber: error: state.json:1:1: no member 'usd_per_hour'\n"
        "hint: docs/cluster.md shows the state of a search");
}

TEST_CASE("A model whose runs make no sense is refused, not divided by zero") {
  const std::string model = R"({"schema_version": 1, "job": {}, "machines": [
    {"machine": "", "law": "scavenger", "names": ["d0"], "values": [1], "update_s": 0}],
    "valid": {"workers": [1, 2], "global_batch": [1, 2], "per_worker_batch": [1, 2]},
    "options": {"model": "auto", "batch_term": false, "total_only": false},
    "runs": [{"workers": )";
  CHECK(refusal([&] { parse_cluster_model(model + R"(0, "global_batch": 8}]})", "m.json"); }) ==
        "plumber: error: m.json:5:26: column 'workers': 0 is not above 0\n" + kNeeded);
  CHECK(refusal([&] {
          parse_cluster_model(model + R"(1, "global_batch": 8, "machine": ""}]})", "m.json");
        }).empty());
}
