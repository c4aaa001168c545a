// SPDX-License-Identifier: Apache-2.0
// Caches on disk beside caches in memory.
#include <algorithm>

#include "catch2_any.h"
#include "optimize/optimize.h"
#include "small_pipeline.h"

namespace plumber {
namespace {

/// 1000 elements of 1 MB, 20 ms of work each.
SmallPipeline decoding() {
  SmallPipeline p;
  const NodeId files = p.source("TFRecordDataset", {.work_ms = 0.1, .bytes = 1e5});
  const NodeId map = p.map(files, "_decode", {.work_ms = 20, .calls = 1, .bytes = 1e6});
  p.may_cache(map);
  p.finish(map);
  p.pipeline.program_hash = "0123456789abcdef";
  return p;
}

OptimizeOptions with_disk(double memory_bytes, double room_bytes, double bytes_per_s) {
  OptimizeOptions options = within(2, memory_bytes);
  options.limits.disk_cache = DiskCache{"/ssd", room_bytes, bytes_per_s, bytes_per_s, false};
  return options;
}

std::vector<Edit> caches(const Plan& plan) {
  std::vector<Edit> found;
  for (const Edit& edit : plan.edits)
    if (edit.kind == EditKind::kInsertCache) found.push_back(edit);
  return found;
}

std::string why_not_on_disk(const OptimizeResult& result) {
  for (const Rejected& rejected : result.rejected)
    if (rejected.reason.starts_with("on disk, ")) return rejected.reason;
  return "";
}

TEST_CASE("a cache that memory has no room for goes to disk, and runs at its rate") {
  const SmallPipeline p = decoding();
  const OptimizeResult result = optimize(p.pipeline, p.analysis, with_disk(100e6, 2e9, 500e6));
  const std::vector<Edit> found = caches(result.plan);
  REQUIRE(found.size() == 1);
  CHECK(found[0].to.starts_with("/ssd/plumber-MapDataset_1-"));
  CHECK(std::get<std::string>(found[0].value) == "0123456789abcdef");
  CHECK(found[0].python == ".cache(\"" + found[0].to + "\")  # at the end");
  CHECK(result.predicted.after_per_s == Approx(500).epsilon(0.02));
  REQUIRE(result.predicted.bound);
  CHECK(result.predicted.bound->kind == BoundKind::kDisk);
  CHECK(result.disk.planned_bytes == Approx(1e9).epsilon(0.01));
  CHECK(result.memory.planned_bytes < 100e6);
  const bool told = std::ranges::any_of(result.warnings, [](const std::string& warning) {
    return warning.find("delete /ssd/plumber-*") != std::string::npos;
  });
  CHECK(told);
}

TEST_CASE("the first epoch pays for writing the file") {
  const SmallPipeline p = decoding();
  OptimizeOptions options = with_disk(100e6, 2e9, 500e6);
  const double quick = *optimize(p.pipeline, p.analysis, options).predicted.first_epoch_per_s;
  options.limits.disk_cache->write_bytes_per_s = 20e6;
  const OptimizeResult slow = optimize(p.pipeline, p.analysis, options);
  CHECK(*slow.predicted.first_epoch_per_s == Approx(20).epsilon(0.02));
  CHECK(quick > 50);
  // Within two epochs such a file does not pay.
  options.epochs = 2;
  CHECK(caches(optimize(p.pipeline, p.analysis, options).plan).empty());
}

TEST_CASE("memory comes first where both fit") {
  const SmallPipeline p = decoding();
  const OptimizeResult result = optimize(p.pipeline, p.analysis, with_disk(4e9, 2e9, 1e11));
  const std::vector<Edit> found = caches(result.plan);
  REQUIRE(found.size() == 1);
  CHECK(found[0].to.empty());
  CHECK(result.disk.items.empty());
}

TEST_CASE("why there is no cache on disk") {
  const SmallPipeline p = decoding();
  CHECK(why_not_on_disk(optimize(p.pipeline, p.analysis, with_disk(100e6, 5e8, 500e6))) ==
        "on disk, it would hold 954 MiB, and /ssd has room for 477 MiB");
  CHECK(why_not_on_disk(optimize(p.pipeline, p.analysis, with_disk(100e6, 2e9, 20e6)))
            .find("it brings nothing") != std::string::npos);
  SmallPipeline many = decoding();
  const auto map = static_cast<NodeId>(1);
  many.analysis.nodes[map].bytes_per_element = 100;
  many.analysis.nodes[map].elements_per_epoch.elements = 2e7;
  many.analysis.nodes[map].materialized_bytes = 2e9;
  CHECK(why_not_on_disk(optimize(many.pipeline, many.analysis, with_disk(100e6, 1e10, 500e6)))
            .find("at most 10M elements") != std::string::npos);
}

TEST_CASE("another program and another way to the node have another file") {
  SmallPipeline p = decoding();
  const auto file = [&](const OptimizeOptions& options) {
    return caches(optimize(p.pipeline, p.analysis, options).plan).at(0).to;
  };
  const OptimizeOptions options = with_disk(100e6, 2e9, 500e6);
  const std::string first = file(options);
  CHECK(file(options) == first);
  p.pipeline.program_hash = "fedcba9876543210";
  CHECK(file(options) != first);
}

}  // namespace
}  // namespace plumber
