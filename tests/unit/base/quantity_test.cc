// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <functional>

#include "base/error.h"
#include "catch2_any.h"

namespace plumber {
namespace {

std::string error_of(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error& error) {
    CHECK(error.kind == ErrorKind::kUsage);
    return format(error);
  }
  return "no error";
}

}  // namespace

TEST_CASE("sizes: binary units unless a B follows the letter directly") {
  CHECK(parse_bytes("300G") == 300LL << 30);
  CHECK(parse_bytes("300Gi") == 300LL << 30);
  CHECK(parse_bytes("300GiB") == 300LL << 30);
  CHECK(parse_bytes("300GB") == 300'000'000'000);
  CHECK(parse_bytes("1K") == 1024);
  CHECK(parse_bytes("1KB") == 1000);
  CHECK(parse_bytes("2M") == 2LL << 20);
  CHECK(parse_bytes("4T") == 4LL << 40);
  CHECK(parse_bytes("1P") == 1LL << 50);
}

TEST_CASE("sizes: plain bytes and fractions") {
  CHECK(parse_bytes("0") == 0);
  CHECK(parse_bytes("4096") == 4096);
  CHECK(parse_bytes("4096B") == 4096);
  CHECK(parse_bytes("1.5G") == 3LL << 29);
  CHECK(parse_bytes("0.001K") == 1);  // 1.024 bytes
  CHECK(parse_bytes("9223372036854775807") == INT64_MAX);
}

TEST_CASE("sizes: everything else is refused") {
  for (const char* text :
       {"",    "G",   "3x",  "-1G",   "+1G",  " 1G",  "1G ", "1 G", "1e3", "1g",   "1GiBs",
        "1Bi", ".5G", "1.G", "1..5G", "1,5G", "0x10", "inf", "nan", "1.5", "1.5B", "1G/s"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_bytes(text), Error);
  }
}

TEST_CASE("sizes: the error quotes the text and shows valid ones") {
  CHECK(error_of([] { parse_bytes("3x", "--mem"); }) ==
        "plumber: error: --mem: '3x' is not a size\n"
        "hint: write 300G or 300GiB (units of 2^30), 300GB (units of 10^9), 1.5T, 512M or plain "
        "bytes");
}

TEST_CASE("sizes: overflow is an error, not a wrapped number") {
  for (const char* text : {"9223372036854775808", "8192P", "99999999999999999999999G", "9e9G"}) {
    CHECK_THROWS_AS(parse_bytes(text), Error);
  }
  CHECK(parse_bytes("8191P") == 8191LL << 50);
  CHECK_THAT(error_of([] { parse_bytes("8192P"); }),
             Catch::Matchers::StartsWith("plumber: error: '8192P' is too large a size"));
}

TEST_CASE("rates of bytes end in /s") {
  CHECK(parse_bytes_per_s("200MB/s") == 200e6);
  CHECK(parse_bytes_per_s("1.5G/s") == 1.5 * 1024 * 1024 * 1024);
  CHECK(parse_bytes_per_s("500/s") == 500);
  CHECK(error_of([] { parse_bytes_per_s("200MB", "--disk"); }) ==
        "plumber: error: --disk: '200MB' is not a rate of bytes\n"
        "hint: write 200MB/s, 1.5G/s or 500000/s");
  CHECK_THROWS_AS(parse_bytes_per_s("/s"), Error);
  CHECK_THROWS_AS(parse_bytes_per_s("1G/h"), Error);
}

TEST_CASE("durations are in seconds unless a unit follows") {
  CHECK(parse_duration_s("0.2") == 0.2);
  CHECK(parse_duration_s("0.2s") == 0.2);
  CHECK(parse_duration_s("5ms") == 5e-3);
  CHECK(parse_duration_s("7us") == Approx(7e-6));
  CHECK(parse_duration_s("7ns") == Approx(7e-9));
  CHECK(parse_duration_s("2min") == 120);
  CHECK(parse_duration_s("1h") == 3600);
  CHECK(parse_duration_s("0") == 0);
}

TEST_CASE("durations: everything else is refused") {
  CHECK(error_of([] { parse_duration_s("5 ms", "--think-time"); }) ==
        "plumber: error: --think-time: '5 ms' is not a duration\n"
        "hint: write 5ms, 0.2s, 2min or plain seconds below 1 such as 0.2");
  CHECK_THROWS_AS(parse_duration_s("-1"), Error);
  CHECK_THROWS_AS(parse_duration_s("1m"), Error);  // minutes or milli-what?
  CHECK_THROWS_AS(parse_duration_s(std::string(400, '9') + "h"), Error);
}

}  // namespace plumber
