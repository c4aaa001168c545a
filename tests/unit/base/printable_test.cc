// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include "catch2_any.h"

namespace plumber {
namespace {

TEST_CASE("what a terminal would obey is spelled out") {
  CHECK(printable("map/_1 (décode)") == "map/_1 (décode)");
  CHECK(printable("\x1b[2Jgone") == "\\x1b[2Jgone");
  CHECK(printable("a\nb\tc\r") == "a\\nb\\tc\\x0d");
  CHECK(printable("\xC2\x9B"
                  "31m") == "\\xc2\\x9b31m");
  CHECK(printable(std::string_view("\0\x7F", 2)) == "\\x00\\x7f");
}

TEST_CASE("bytes that are no UTF-8 are spelled out too") {
  CHECK(printable("\xFF\xC3") == "\\xff\\xc3");
  CHECK(printable("\xE2\x82") == "\\xe2\\x82");
  CHECK(printable("\xE2\x82\xAC") == "\xE2\x82\xAC");
}

TEST_CASE("lines stay where they are wanted") {
  CHECK(printable_lines("two\nlines\x07") == "two\nlines\\x07");
}

}  // namespace
}  // namespace plumber
