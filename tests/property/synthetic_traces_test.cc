// SPDX-License-Identifier: Apache-2.0
// Traces whose right answers are known: testdata/traces/synthetic/CASE/{trace.pb,expected.json}.
// Visit ratios, rates, sizes and the paper's LP must agree to 1e-6.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "catch2_any.h"
#include "optimize/optimize.h"
#include "trace/read.h"

namespace plumber {
namespace {

using nlohmann::json;

const char* const kCases[] = {"imagenet", "in_flight", "shuffle_fill", "sequential_bound",
                              "zero_cpu", "autotune",  "t_zero",       "zip",
                              "cache",    "linear"};

std::string folder(const std::string& name) {
  return std::string(PLUMBER_TESTDATA_DIR) + "/traces/synthetic/" + name + "/";
}

json expected(const std::string& name) {
  std::ifstream file(folder(name) + "expected.json");
  REQUIRE(file.good());
  return json::parse(file);
}

Pipeline pipeline(const std::string& name) {
  return build_pipeline(read_trace({folder(name) + "trace.pb"}));
}

bool same(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

// A number, or null where there is none.
void check(const json& want, const std::optional<double>& got, const std::string& what) {
  INFO(what << " wants " << want.dump() << ", got " << (got ? std::to_string(*got) : "none"));
  if (want.is_null())
    CHECK(!got);
  else
    CHECK((got && same(want.get<double>(), *got)));
}

// expected.json names a function's reader by its local name.
const NodeAnalysis& node_named(const Pipeline& p, const Analysis& a, const std::string& name) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const std::string& full = p.nodes[i].name;
    if (full == name || full.ends_with(">" + name)) return a.nodes[static_cast<NodeId>(i)];
  }
  FAIL("no node " << name);
  throw 0;
}

}  // namespace

TEST_CASE("synthetic traces: every node's numbers") {
  for (const std::string name : kCases) {
    const json want = expected(name);
    const Pipeline p = pipeline(name);
    const Analysis a = analyze(p, {});
    check(want["observed_rate"], a.rate.observed_per_s, name + " observed rate");
    double disk_bytes = 0;
    for (const NodeAnalysis& node : a.nodes) disk_bytes += node.below_cache ? 0 : node.disk_bytes;
    check(want["disk_bytes_per_minibatch"], disk_bytes, name + " disk bytes");
    for (const json& row : want["nodes"]) {
      const std::string at = name + " " + row["name"].get<std::string>() + " ";
      const NodeAnalysis& node = node_named(p, a, row["name"]);
      check(row["visit_ratio"], node.visit_ratio, at + "visit ratio");
      check(row["cpu_s_per_element"], node.cpu_s_per_element, at + "CPU an element");
      check(row["rate_per_core"], node.rate_per_core_per_s, at + "rate per core");
      check(row["elements"], node.elements, at + "elements");
      check(row["bytes_per_element"], node.bytes_per_element, at + "bytes an element");
      check(row["materialized_bytes"], node.materialized_bytes, at + "materialised size");
      check(row["records"], node.elements_per_epoch.elements, at + "elements of an epoch");
      check(row["parallelism"], node.parallelism, at + "parallelism");
      if (!row["cores_used"].is_null())
        check(row["cores_used"], node.busy_cores, at + "busy cores");
      // The paper leaves the cache itself out too; here only what lies below it is marked.
      if (row["op"] != "CacheDatasetV2") CHECK(row["below_cache"].get<bool>() == node.below_cache);
    }
  }
}

TEST_CASE("synthetic traces: nodes ranked by what their threads can do") {
  for (const std::string name : kCases) {
    const json want = expected(name);
    const Pipeline p = pipeline(name);
    const Analysis a = analyze(p, {});
    double last = 0;
    for (const json& ranked : want["rank"]) {
      const NodeAnalysis& node = node_named(p, a, ranked);
      REQUIRE(node.rate_per_core_per_s);
      REQUIRE(node.parallelism);
      const double rate = *node.rate_per_core_per_s * *node.parallelism;
      CHECK(rate >= last * (1 - 1e-9));
      last = rate;
    }
  }
}

TEST_CASE("synthetic traces: the paper's linear program") {
  for (const std::string name : kCases) {
    const json want = expected(name);
    const Pipeline p = pipeline(name);
    OptimizeOptions options;
    options.model = ModelKind::kPaper;
    options.limits.cores = want["machine"]["cores"].get<double>();
    options.limits.memory_bytes = want["machine"]["memory_total"].get<double>();
    const OptimizeResult result = optimize(p, analyze(p, {}), options);
    check(want["lp"]["rate"], result.lp.objective_per_s, name + " LP rate");
    for (const auto& [node, cores] : want["lp"]["theta"].items()) {
      const auto theta =
          std::find_if(result.lp.theta.begin(), result.lp.theta.end(), [&](const Theta& t) {
            return p[t.node].name == node || p[t.node].name.ends_with(">" + node);
          });
      check(cores, theta == result.lp.theta.end() ? std::nullopt : std::optional(theta->cores),
            name + " theta of " + node);
    }
  }
}

}  // namespace plumber
