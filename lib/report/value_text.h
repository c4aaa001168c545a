// SPDX-License-Identifier: Apache-2.0
// Values as text: rounded with their unit for people, in full for programs.
#pragma once

#include <string>

#include "report/report.h"

namespace plumber {

/// "1.2 ms", "yes", "a, b"; "-" for null.
std::string readable(const Value& value, Unit unit);

/// The sentence with its values in place.
std::string readable(const Sentence& sentence);

/// 9 significant digits, whole numbers below 2^53 exact; "null" where there is no finite number.
std::string exact(double number);

/// Characters of UTF-8 text, which is what it takes on a terminal.
std::size_t width_of(const std::string& text);

/// At most `width` characters: "ParallelInter...rdDataset".
std::string elide_middle(const std::string& text, std::size_t width);

/// Lines of at most `width` characters, broken at blanks; a longer word stays whole.
std::vector<std::string> wrap(const std::string& text, std::size_t width);

}  // namespace plumber
