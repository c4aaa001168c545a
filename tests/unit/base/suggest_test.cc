// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include "catch2_any.h"

namespace plumber {

TEST_CASE("edit distance counts insertions, deletions and replacements") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the nearest name is suggested, a far one is not") {
  const std::vector<std::string> known = {"--cores", "--mem", "--disk"};
  CHECK(did_you_mean("--coers", known) == "did you mean '--cores'?");
  CHECK(did_you_mean("--men", known) == "did you mean '--mem'?");
  CHECK(did_you_mean("--memory", known) == "did you mean '--mem'?");
  CHECK(did_you_mean("--m", known).empty());
  CHECK(did_you_mean("--pipeline", known).empty());
  CHECK(did_you_mean("x", {}).empty());
}

TEST_CASE("of two equally near names the first is suggested") {
  CHECK(nearest_name("map_", {"map_1", "map_2"}) == "map_1");
}

}  // namespace plumber
