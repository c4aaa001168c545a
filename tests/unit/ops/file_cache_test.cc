// SPDX-License-Identifier: Apache-2.0
#include "ops/file_cache.h"

#include "catch2_any.h"

namespace plumber {
namespace {

// The table of file_cache.h: elements of so many tensors and bytes, us an element.
TEST_CASE("file caches cost about what was measured on TensorFlow") {
  struct Measured {
    int tensors;
    double bytes, write_us, read_us, file_bytes;
  };
  for (const Measured& m :
       {Measured{4, 16, 5.9, 0.98, 113}, Measured{1, 65536, 32, 14, 65567},
        Measured{1, 600e3, 210, 124, 600031}, Measured{1, 9.6e6, 3577, 1904, 9600036}}) {
    const FileElements one{1, m.tensors};
    const double bytes = file_cache_bytes(one, m.bytes);
    CAPTURE(m.bytes, m.tensors);
    CHECK(bytes == Approx(m.file_bytes).epsilon(0.15));
    CHECK(file_cache_read_s(one, bytes) * 1e6 == Approx(m.read_us).epsilon(0.15));
    CHECK(file_cache_write_s(one, bytes) * 1e6 == Approx(m.write_us).epsilon(0.3));
  }
}

}  // namespace
}  // namespace plumber
