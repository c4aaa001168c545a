// SPDX-License-Identifier: Apache-2.0
// The known name that a misspelt one was meant to be, by edit distance.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumber {

/// Least number of single-character insertions, deletions and replacements from `a` to `b`.
size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known` (the first one of several), if at most a third of `name` differs.
std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& known);

/// "did you mean 'x'?", or empty: what an Error takes for its hint.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace plumber
