// SPDX-License-Identifier: Apache-2.0
#include "ops/cardinality_rules.h"

#include <algorithm>
#include <cmath>

namespace plumber {
namespace {

// enumerate() and counters range over all 64-bit integers.
constexpr double kEndless = 0x1p62;

}  // namespace

Cardinality known(double elements) {
  if (elements >= kEndless) return kInfinite;
  return {Cardinality::Kind::kKnown, std::max(0.0, elements)};
}

bool is_known(const Cardinality& c) { return c.kind == Cardinality::Kind::kKnown; }
bool is_infinite(const Cardinality& c) { return c.kind == Cardinality::Kind::kInfinite; }

Cardinality scaled(const Cardinality& c, double factor) {
  return is_known(c) ? known(c.elements * factor) : c;
}

// An estimate far from what was counted is none.
Cardinality within(const EpochCount& count, const Cardinality& estimate) {
  constexpr double kFar = 0.1, kNarrow = 0.05;
  const double middle = (count.least + count.most) / 2;
  const bool near = is_known(estimate) && estimate.elements >= count.least * (1 - kFar) &&
                    estimate.elements <= count.most * (1 + kFar);
  if (near) return known(std::clamp(estimate.elements, count.least, count.most));
  return count.most - middle <= kNarrow * middle ? known(middle) : kUnknown;
}

Cardinality asserted(std::int64_t count) {
  return count == -1 ? kInfinite : known(static_cast<double>(count));
}

Cardinality repeated(const Cardinality& c, std::optional<std::int64_t> count) {
  if (!count) return kUnknown;
  if (*count < 0) return is_known(c) && c.elements == 0 ? c : kInfinite;
  return *count == 0 ? known(0) : scaled(c, static_cast<double>(*count));
}

Cardinality taken(const Cardinality& c, std::optional<std::int64_t> count) {
  if (!count) return kUnknown;
  const auto most = static_cast<double>(*count);
  if (*count < 0) return c;
  if (is_infinite(c)) return known(most);
  return is_known(c) ? known(std::min(c.elements, most)) : c;
}

Cardinality skipped(const Cardinality& c, std::optional<std::int64_t> count) {
  if (!count) return kUnknown;
  if (*count < 0) return known(0);
  return is_known(c) ? known(c.elements - static_cast<double>(*count)) : c;
}

Cardinality rounded(const Cardinality& c, double size, bool down) {
  if (!is_known(c)) return c;
  // Measured counts carry rounding errors that must not make one element more.
  const double parts = c.elements / size, whole = std::round(parts);
  if (std::abs(parts - whole) < 1e-9 * std::max(1.0, whole)) return known(whole);
  return known(down ? std::floor(parts) : std::ceil(parts));
}

}  // namespace plumber
