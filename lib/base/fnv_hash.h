// SPDX-License-Identifier: Apache-2.0
// FNV-1a, 64 bits: h = (h xor byte) * 0x100000001b3, from 0xcbf29ce484222325. Every text ends in a
// byte that no text has, so that "ab","c" differs from "a","bc".
#pragma once

#include <cstdint>
#include <string_view>

namespace plumber {

class FnvHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0xff);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace plumber
