// SPDX-License-Identifier: Apache-2.0
// The paper's model against its own examples, against GLPK, and against traces with known answers.
#include "optimize/paper_model.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "catch2_any.h"
#include "lp/glpk_solver.h"
#include "small_pipeline.h"
#include "trace/read.h"

namespace plumber {
namespace {

struct Stage {
  double rate_per_core_per_s;
  bool parallel;
};

SmallPipeline chain_of(const std::vector<Stage>& stages) {
  SmallPipeline p;
  NodeId last{};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const NodeNumbers numbers{.work_ms = 1e3 / stages[i].rate_per_core_per_s};
    std::vector<NodeId> inputs;
    if (i > 0) inputs.push_back(last);
    last = p.add(stages[i].parallel ? "ParallelMapDatasetV2" : "ShuffleDatasetV3", inputs, numbers);
  }
  p.finish(last);
  return p;
}

LpResult optimum_of(const SmallPipeline& p, double cores) {
  return paper_optimum(p.pipeline, paper_nodes(p.pipeline, p.analysis), cores);
}

TEST_CASE("RCNN: 0.5 and 20 minibatches a second and core on 16 cores") {
  const LpResult lp = optimum_of(chain_of({{0.5, true}, {20, true}}), 16);
  CHECK(lp.objective_per_s == Approx(7.8048780488));
  CHECK(lp.theta[0].cores == Approx(15.6097560976));
  CHECK(lp.theta[1].cores == Approx(0.3902439024));
  CHECK(lp.binding == std::vector<std::string>{"cores"});
}

TEST_CASE("96 cores for two maps, one a hundred times cheaper") {
  const LpResult lp = optimum_of(chain_of({{1, true}, {100, true}}), 96);
  CHECK(lp.theta[0].cores == Approx(95.0495).epsilon(1e-5));
  CHECK(lp.theta[1].cores == Approx(0.950495).epsilon(1e-5));
}

TEST_CASE("a sequential node stops the rate, and cores are left over") {
  const LpResult lp = optimum_of(chain_of({{2, true}, {5, false}}), 16);
  CHECK(lp.objective_per_s == Approx(5));
  CHECK(lp.theta[0].cores == Approx(2.5));
  CHECK(lp.binding == std::vector<std::string>{"ShuffleDatasetV3/_1"});
}

TEST_CASE("a node without CPU limits nothing and is left out") {
  SmallPipeline p = chain_of({{2, true}, {5, true}});
  p.analysis.nodes[NodeId{1}].rate_per_core_per_s.reset();
  const LpResult lp = optimum_of(p, 4);
  CHECK(lp.objective_per_s == Approx(8));
  CHECK(lp.theta.size() == 1);
}

TEST_CASE("a reader inside a parallel interleave may use more than one core") {
  SmallPipeline p;
  const NodeId files = p.source("TensorSliceDataset", {});
  const NodeId reader = p.source("TFRecordDataset", {.work_ms = 1000});
  const NodeId interleave = p.add("ParallelInterleaveDatasetV4", {files}, {.work_ms = 1});
  p.pipeline[interleave].inner = {reader};
  p.pipeline[reader].outer = interleave;
  p.finish(interleave);
  CHECK(optimum_of(p, 8).objective_per_s == Approx(8 / 1.001));
}

TEST_CASE("the closed form is GLPK's optimum on random chains") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> rate(0.1, 100);
  for (int round = 0; round < 100; ++round) {
    std::vector<Stage> stages;
    for (int i = 0; i < 1 + round; ++i) stages.push_back({rate(random), random() % 5 != 0});
    const SmallPipeline p = chain_of(stages);
    const double cores = 1 + static_cast<double>(random() % 96);
    const std::vector<PaperNode> nodes = paper_nodes(p.pipeline, p.analysis);
    const LpResult closed = paper_optimum(p.pipeline, nodes, cores);
    const Solution solved = solve(paper_program(p.pipeline, nodes, cores));
    REQUIRE(solved.status == SolveStatus::kOptimal);
    CHECK(closed.objective_per_s == Approx(solved.objective).epsilon(1e-9));
  }
}

TEST_CASE("the program as text") {
  const LpResult lp = optimum_of(chain_of({{2, true}, {5, false}}), 16);
  CHECK(lp.program == R"(\ the paper's model: root elements per second, cores
Maximize
 obj: + rate
Subject To
 ParallelMapDatasetV2/_0: - rate + 2 theta_ParallelMapDatasetV2/_0 >= 0
 ShuffleDatasetV3/_1: - rate + 5 theta_ShuffleDatasetV3/_1 >= 0
 cores: + theta_ParallelMapDatasetV2/_0 + theta_ShuffleDatasetV3/_1 <= 16
Bounds
 theta_ParallelMapDatasetV2/_0 <= 16
 theta_ShuffleDatasetV3/_1 <= 1
End
)");
}

std::string inner_name(const std::string& name) {
  const std::size_t at = name.rfind('>');
  return at == std::string::npos ? name : name.substr(at + 1);
}

TEST_CASE("traces with known answers: the paper's rate and cores to 1e-6") {
  namespace fs = std::filesystem;
  std::vector<fs::path> cases;
  const fs::path folder = fs::path(PLUMBER_TESTDATA_DIR) / "traces" / "synthetic";
  for (const auto& entry : fs::directory_iterator(folder)) cases.push_back(entry.path());
  REQUIRE(cases.size() == 10);
  for (const fs::path& path : cases) {
    CAPTURE(path.filename().string());
    const auto expected = nlohmann::json::parse(std::ifstream(path / "expected.json"));
    const Pipeline pipeline = build_pipeline(read_trace({(path / "trace.pb").string()}));
    OptimizeOptions options;
    options.model = ModelKind::kPaper;
    options.limits.cores = expected["machine"]["cores"];
    const OptimizeResult result = optimize(pipeline, analyze(pipeline, {}), options);
    CHECK(result.lp.objective_per_s == Approx(expected["lp"]["rate"].get<double>()).epsilon(1e-6));
    CHECK(result.lp.binding.front() == expected["lp"]["binding"].get<std::string>());
    const auto& theta = expected["lp"]["theta"];
    CHECK(result.lp.theta.size() == theta.size());
    for (const Theta& node : result.lp.theta) {
      const std::string name = inner_name(pipeline[node.node].name);
      CAPTURE(name);
      REQUIRE(theta.contains(name));
      CHECK(node.cores == Approx(theta[name].get<double>()).epsilon(1e-6));
    }
  }
}

}  // namespace
}  // namespace plumber
