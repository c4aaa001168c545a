// SPDX-License-Identifier: Apache-2.0
// Names come from files, and a terminal obeys what it is sent: control characters, and bytes that
// are no UTF-8, are written as "\n", "\t" or "\x1b".
#pragma once

#include <string>
#include <string_view>

namespace plumber {

/// The text with every such character spelled out.
std::string printable(std::string_view text);

/// The same, but line breaks stay: for text of several lines.
std::string printable_lines(std::string_view text);

}  // namespace plumber
