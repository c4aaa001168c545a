// SPDX-License-Identifier: Apache-2.0
#include "report/value_text.h"

#include <limits>

#include "catch2_any.h"

using namespace plumber;

TEST_CASE("People read rounded values with units, programs exact ones") {
  CHECK(readable(0.00123456, Unit::kSeconds) == "1.23 ms");
  CHECK(readable(963379200.0, Unit::kBytes) == "919 MiB");
  CHECK(readable(12.5, Unit::kGainPerSecond) == "+12.5/s");
  CHECK(readable(-3.0, Unit::kGainPerSecond) == "-3/s");
  CHECK(readable(Value{}, Unit::kSeconds) == "-");
  CHECK(readable(true, Unit::kNone) == "yes");
  CHECK(readable(std::vector<std::string>{"a", "b"}, Unit::kNone) == "a, b");
  CHECK(readable(std::vector<double>{58.5, 60}, Unit::kPerSecond) == "58.5/s to 60/s");

  CHECK(exact(0.00123456789012) == "0.00123456789");
  CHECK(exact(4315996160123.0) == "4315996160123");
  CHECK(exact(3) == "3");
  CHECK(exact(1e-7 / 3) == "3.33333333e-08");
  CHECK(exact(std::numeric_limits<double>::infinity()) == "null");
}

TEST_CASE("A sentence takes its values in order") {
  const Sentence sentence{"{} limits the pipeline to {}.",
                          {{Unit::kNone, "map {odd}"}, {Unit::kPerSecond, 59.243}}};
  CHECK(readable(sentence) == "map {odd} limits the pipeline to 59.2/s.");
}

TEST_CASE("Long names lose their middle, whole characters at a time") {
  CHECK(elide_middle("ParallelInterleaveDatasetV4/_12", 15) == "Parall...V4/_12");
  CHECK(elide_middle("short", 15) == "short");
  CHECK(elide_middle("größenänderung_überall", 9) == "grö...all");
  CHECK(width_of("größe") == 5);
}

TEST_CASE("Text is broken at blanks and keeps its own line breaks") {
  CHECK(wrap("one two three four", 9) == std::vector<std::string>{"one two", "three", "four"});
  CHECK(wrap("first\nsecond", 40) == std::vector<std::string>{"first", "second"});
  CHECK(wrap("a_word_that_is_too_long b", 5) ==
        std::vector<std::string>{"a_word_that_is_too_long", "b"});
}
