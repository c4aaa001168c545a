// SPDX-License-Identifier: Apache-2.0
// Where a cache may stand: legal by class (design §4, cache rule), complete, and within the memory
// that is left, or within the room on disk. Of the places on one path only those matter that hold
// less than every place above them: a higher one of the same size saves more.
#pragma once

#include <string>

#include "optimize/choices.h"

namespace plumber {

/// Sets cache_bytes and disk_cache_bytes where a cache may stand, and says of every other place why
/// not.
void find_caches(const Problem& problem, double memory_bytes, Choices& choices);

/// What a cache above the node would hold as a file.
double filed_bytes(const Problem& problem, NodeId id);

/// Before a reason that holds for a file only.
const std::string kOnDisk = "on disk, ";

}  // namespace plumber
