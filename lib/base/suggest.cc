// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plumber {

size_t edit_distance(std::string_view a, std::string_view b) {
  // row[j]: distance from the part of `a` seen so far to the first j characters of `b`.
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

namespace {

// One is the other cut short: --memory and --mem, but not --m.
bool is_shortened(std::string_view a, std::string_view b) {
  constexpr size_t kLeast = 3;
  if (a.size() > b.size()) std::swap(a, b);
  const size_t dashes = std::min(a.find_first_not_of('-'), a.size());
  return a.size() - dashes >= kLeast && b.starts_with(a);
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = is_shortened(name, candidate) ? 1 : edit_distance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = &candidate;
  }
  return nearest == nullptr ? std::nullopt : std::optional(*nearest);
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::optional<std::string> nearest = nearest_name(name, known);
  return nearest ? "did you mean '" + *nearest + "'?" : "";
}

}  // namespace plumber
