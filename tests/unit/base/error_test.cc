// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include "catch2_any.h"

namespace plumber {

TEST_CASE("an error names the place, the cause and the way out") {
  const Error error(ErrorKind::kInput, "trace.pb", "the file ends in the middle of field 1",
                    "trace again");
  CHECK(format(error) ==
        "plumber: error: trace.pb: the file ends in the middle of field 1\n"
        "hint: trace again");
}

TEST_CASE("place and hint are left out where there is none") {
  CHECK(format(Error(ErrorKind::kInternal, "", "no root")) == "plumber: error: no root");
}

}  // namespace plumber
