// SPDX-License-Identifier: Apache-2.0
#include "cluster/knee.h"

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
