// SPDX-License-Identifier: Apache-2.0
#include "ops/contention.h"

#include "catch2_any.h"

namespace plumber {
namespace {

TEST_CASE("two cores: the larger bound, as measured there") {
  CHECK(beside_busy_cores_s(1, 1, 2) == 1);
  CHECK(beside_busy_cores_s(0.9, 1, 1) == 1);
  CHECK(beside_busy_cores_s(1, 0.9, 2) == 1);
}

TEST_CASE(
    "a thread as loaded as the cores costs some per cent, the fewer the more cores there are") {
  CHECK(beside_busy_cores_s(1, 1, 16) == Approx(1.052).margin(0.001));
  CHECK(beside_busy_cores_s(1, 1, 64) == Approx(1.032).margin(0.001));
  CHECK(beside_busy_cores_s(1, 1, 96) == Approx(1.026).margin(0.001));
}

TEST_CASE("whichever is the larger: the closer they are, the more") {
  CHECK(beside_busy_cores_s(0.9, 1, 16) == Approx(1.016).margin(0.001));
  CHECK(beside_busy_cores_s(1, 0.9, 16) == beside_busy_cores_s(0.9, 1, 16));
  CHECK(beside_busy_cores_s(0.5, 1, 16) == Approx(1).margin(1e-4));
  CHECK(beside_busy_cores_s(0, 1, 16) == 1);
  CHECK(beside_busy_cores_s(0, 0, 16) == 0);
}

TEST_CASE("one more core makes no pipeline slower") {
  // The work of all cores is 8 s; the thread has 1, 2, 3 or 4 of it.
  for (const double thread_s : {1.0, 2.0, 3.0, 4.0}) {
    double before_s = thread_s + 8;
    for (double cores = 1; cores <= 96; cores += 0.25) {
      const double period_s = beside_busy_cores_s(thread_s, 8 / cores, cores);
      CHECK(period_s <= before_s * (1 + 1e-6));
      before_s = period_s;
    }
  }
}

}  // namespace
}  // namespace plumber
