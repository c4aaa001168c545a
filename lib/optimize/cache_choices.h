// SPDX-License-Identifier: Apache-2.0
// Where a memory cache may stand: legal by class (design §4, cache rule), complete, and within the
// memory that is left. Of the places on one path only those matter that hold less than every place
// above them: a higher one of the same size saves more.
#pragma once

#include "optimize/choices.h"

namespace plumber {

/// Sets cache_bytes where a cache may stand, and says of every other place why not.
void find_caches(const Problem& problem, double memory_bytes, Choices& choices);

}  // namespace plumber
