// SPDX-License-Identifier: Apache-2.0
// How the elements of one epoch follow from those of the input, by the counts in the program:
//
//   repeat(k)  n k        take(k)  min(n, k)        skip(k)  n - k        batch(k), shard(k)  n / k
//
// What is unknown or infinite stays so, as far as the op lets it.
#pragma once

#include <optional>

#include "ops/analysis.h"
#include "ops/epoch_counts.h"

namespace plumber {

constexpr Cardinality kUnknown{Cardinality::Kind::kUnknown, 0};
constexpr Cardinality kInfinite{Cardinality::Kind::kInfinite, 0};

/// A known number; beyond all that can be counted it is infinite.
Cardinality known(double elements);

bool is_known(const Cardinality& c);
bool is_infinite(const Cardinality& c);
Cardinality scaled(const Cardinality& c, double factor);

/// An estimate as far as it agrees with what was counted; else the middle of a narrow count.
Cardinality within(const EpochCount& count, const Cardinality& estimate);

Cardinality asserted(std::int64_t count);
Cardinality repeated(const Cardinality& c, std::optional<std::int64_t> count);
Cardinality taken(const Cardinality& c, std::optional<std::int64_t> count);
Cardinality skipped(const Cardinality& c, std::optional<std::int64_t> count);
Cardinality rounded(const Cardinality& c, double size, bool down);

}  // namespace plumber
