// SPDX-License-Identifier: Apache-2.0
#include "trace/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"

namespace plumber {
namespace {

// A trace is a few hundred kB; what inflates beyond this is no trace.
constexpr std::size_t kMostInflatedBytes = std::size_t{1} << 28;
constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib's code for "a gzip header, no other"

[[noreturn]] void refuse(const std::string& name, const std::string& message,
                         const std::string& hint) {
  throw Error(ErrorKind::kInput, name, message, hint);
}

bool starts_member(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

/// zlib's state for as long as one member lasts.
class Inflation {
 public:
  explicit Inflation(std::string_view packed) {
    // zlib does not write to its input; its interface is older than const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in =
        static_cast<uInt>(std::min<std::size_t>(packed.size(), std::numeric_limits<uInt>::max()));
    ready_ = inflateInit2(&stream_, kGzipOnly) == Z_OK;
  }
  ~Inflation() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;

  /// Appends the member's plain bytes; false if it is damaged or ends too early.
  bool append_to(std::string& plain) {
    std::array<char, 1 << 16> chunk;
    int state = ready_ ? Z_OK : Z_MEM_ERROR;
    while (state == Z_OK && plain.size() <= kMostInflatedBytes) {
      stream_.next_out = reinterpret_cast<Bytef*>(chunk.data());
      stream_.avail_out = static_cast<uInt>(chunk.size());
      state = inflate(&stream_, Z_NO_FLUSH);
      plain.append(chunk.data(), chunk.size() - stream_.avail_out);
    }
    return state == Z_STREAM_END || plain.size() > kMostInflatedBytes;
  }

  std::size_t left() const { return stream_.avail_in; }

 private:
  z_stream stream_ = {};
  bool ready_ = false;
};

}  // namespace

std::string gunzip_if_needed(const std::string& name, std::string bytes) {
  std::string_view packed = bytes;
  if (!starts_member(packed)) return bytes;
  std::string plain;
  while (starts_member(packed)) {
    Inflation member(packed);
    if (!member.append_to(plain))
      refuse(name, "the gzip stream is damaged or ends too early",
             "record it again with scripts/plumber_tf.py trace; it writes whole files only");
    if (plain.size() > kMostInflatedBytes)
      refuse(name, "the gzip stream inflates to more than 256 MiB", "this is no trace");
    packed.remove_prefix(packed.size() - member.left());
  }
  // Tapes and block devices pad with zeros.
  if (packed.find_first_not_of('\0') != std::string_view::npos)
    refuse(name, "after the gzip stream come bytes that are none", "the file is damaged");
  return plain;
}

}  // namespace plumber
