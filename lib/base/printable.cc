// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumber {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// Bytes of the UTF-8 character that starts there; 0 if none does.
std::size_t character_size(std::string_view text, std::size_t at) {
  const unsigned char first = byte_at(text, at);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xC2 && first < 0xE0 ? 2
                           : first >= 0xE0 && first < 0xF0 ? 3
                           : first >= 0xF0 && first < 0xF5 ? 4
                                                           : 0;
  if (at + size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_at(text, at + i) & 0xC0) != 0x80) return 0;
  }
  return size;
}

/// Controls of ASCII, and those of Latin-1 (U+0080 to U+009F), which some terminals obey too.
bool is_control(std::string_view character) {
  const unsigned char first = byte_at(character, 0);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && byte_at(character, 1) < 0xA0;
}

std::string spelled(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\t") return "\\t";
  std::string text;
  for (const char byte : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string spell_out(std::string_view text, bool keeps_lines) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_size(text, at);
    const std::string_view character = text.substr(at, std::max<std::size_t>(1, size));
    const bool stays = size > 0 && (!is_control(character) || (keeps_lines && character == "\n"));
    out += stays ? std::string(character) : spelled(character);
    at += character.size();
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return spell_out(text, false); }

std::string printable_lines(std::string_view text) { return spell_out(text, true); }

}  // namespace plumber
