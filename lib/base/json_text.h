// SPDX-License-Identifier: Apache-2.0
// JSON that people hand in, with the place of every value, so that an error can name it:
//
//   state.json:7:14: 'budget_usd' is not a number from 0 to 1e12
//
// Linear in the text and without recursion; deeper nesting than any of our files has is refused,
// because the library copies values recursively.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace plumber {

/// Keys of objects and indices of arrays (as text) from the root to a value.
using JsonPath = std::vector<std::string>;

/// The object that `text` holds; Error(kInput) at the place where it is no JSON, or when it is
/// something else than an object or has a member twice. `hint` is the way out.
nlohmann::ordered_json parse_json_object(std::string_view text, const std::string& name,
                                         const std::string& hint);

/// "NAME:LINE:COLUMN", both counted from 1, of the value at `path` in the text of valid JSON, or of
/// the innermost value around it that is there.
std::string json_place(std::string_view text, const std::string& name, const JsonPath& path);

/// "NAME:LINE:COLUMN" of a byte of the text.
std::string place_in_text(std::string_view text, const std::string& name, std::size_t byte);

}  // namespace plumber
