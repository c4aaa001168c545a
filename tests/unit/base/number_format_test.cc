// SPDX-License-Identifier: Apache-2.0
#include "base/number_format.h"

#include <limits>

#include "catch2_any.h"

using namespace plumber;

TEST_CASE("Three significant digits, then the unit") {
  CHECK(format_seconds(0) == "0 s");
  CHECK(format_seconds(3.4e-9) == "3.4 ns");
  CHECK(format_seconds(0.00123456) == "1.23 ms");
  CHECK(format_seconds(0.9996) == "1 s");
  CHECK(format_seconds(105.71) == "106 s");
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(963379200) == "919 MiB");
  CHECK(format_bytes(1048575) == "1 MiB");
  CHECK(format_bytes(37e9) == "34.5 GiB");
  CHECK(format_rate(59.243) == "59.2/s");
  CHECK(format_rate(7134) == "7.13k/s");
  CHECK(format_rate(999.7) == "1k/s");
  CHECK(format_rate(0.0321) == "0.0321/s");
  CHECK(format_bytes_rate(200e6) == "191 MiB/s");
}

TEST_CASE("Counts are exact while they are short") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(1600) == "1600");
  CHECK(format_count(12800) == "12.8k");
  CHECK(format_count(1.5) == "1.5");
  CHECK(format_number(0.98765) == "0.988");
  CHECK(format_number(16) == "16");
  CHECK(format_number(123456789) == "1.23e+08");
}

TEST_CASE("Shares are whole per cents, small ones excepted") {
  CHECK(format_share(0.957) == "96 %");
  CHECK(format_share(0.004) == "0.4 %");
  CHECK(format_share(0) == "0 %");
  CHECK(format_share(std::numeric_limits<double>::quiet_NaN()) == "unknown");
}

TEST_CASE("One of a thing, or several") {
  CHECK(counted(1, "core") == "1 core");
  CHECK(counted(0, "core") == "0 cores");
  CHECK(counted(1.5, "core") == "1.5 cores");
}
