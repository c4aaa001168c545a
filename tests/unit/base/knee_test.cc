// SPDX-License-Identifier: Apache-2.0
#include "base/knee.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch2_any.h"

using namespace plumber;

namespace {

KneeOptions options_of(const nlohmann::json& known) {
  KneeOptions options;
  options.curve = known["curve"] == "convex" ? Curve::kConvex : Curve::kConcave;
  options.direction =
      known["direction"] == "increasing" ? Direction::kIncreasing : Direction::kDecreasing;
  options.sensitivity = known["S"];
  options.online = known["online"];
  return options;
}

}  // namespace

TEST_CASE("Every recorded answer of kneed 0.8.6") {
  const auto cases = nlohmann::json::parse(
      read_file(std::string(PLUMBER_TESTDATA_DIR) + "/cluster/kneedle_cases.json"));
  REQUIRE(cases.size() == 44);
  for (const auto& known : cases) {
    INFO(known["name"].get<std::string>());
    const std::vector<double> x = known["x"], y = known["y"];
    const Knee knee = find_knee(x, y, options_of(known));
    CHECK(knee.index.has_value() == !known["knee"].is_null());
    if (knee.index && !known["knee"].is_null()) {
      CHECK(x[*knee.index] == known["knee"].get<double>());
    }
    if (!knee.index) CHECK_FALSE(knee.why.empty());
  }
}

TEST_CASE("No knee has a reason") {
  CHECK(find_knee({1}, {2}).why == "one point has no knee");
  CHECK(find_knee({1, 2, 3}, {5, 5, 5}).why == "the curve is flat");
  CHECK_FALSE(find_knee({1, 2, 3, 4}, {4, 3, 2, 1}).index.has_value());
  CHECK_FALSE(find_knee({1, 2}, {2, 1}).index.has_value());
  CHECK(find_knee({1, 2, 3, 4}, {10, 2, 1.5, 1}).index == 1U);

  const Knee few = find_knee({1, 2, 3}, {3, 1, .9});
  CHECK_FALSE(few.index.has_value());
  CHECK(few.why ==
        "too few points: the curve rises 0.452 above the line between its ends, and 3 points need "
        "0.500");
  CHECK(farthest_from_chord({1, 2, 3}, {3, 1, .9}) == 1U);
  CHECK_FALSE(farthest_from_chord({1, 2, 3, 4}, {4, 3, 2, 1}).has_value());
}

TEST_CASE("The paper's throughput against batch bends where it says") {
  const KneeOptions shape{Curve::kConcave, Direction::kIncreasing, 1, false};
  const std::vector<double> images{384, 512, 768, 1024, 1536, 2048};
  const std::vector<double> sentences{512, 768, 1024, 1280, 1536, 1792};
  const auto resnet18 = find_knee(images, {455.9, 472.3, 497.5, 510.1, 512.7, 517.3}, shape);
  const auto resnet50 = find_knee(images, {207.0, 215.6, 223.9, 236.5, 255.5, 258.6}, shape);
  const auto transformer = find_knee(sentences, {235.5, 242.3, 250.4, 257.1, 259.4, 260.0}, shape);
  CHECK(images[*resnet18.index] == 1024);
  CHECK(images[*resnet50.index] == 1536);
  CHECK(sentences[*transformer.index] == 1280);
}
