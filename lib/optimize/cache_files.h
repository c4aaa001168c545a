// SPDX-License-Identifier: Apache-2.0
// Names of caches on disk: FOLDER/plumber-NODE-HASH, one for each program, place and way to get
// there, so that no program reads another one's elements:
//
//   HASH  FNV-1a, 64 bits, over all bytes of the program (pipeline.program_hash), the edits of the
//         plan that move, join or take out nodes, and the name of the node
//
// The same trace and plan give the same name, so a second job reads what the first one has written.
#pragma once

#include <string>

#include "optimize/optimize.h"
#include "pipeline/plan.h"

namespace plumber {

/// Gives each cache whose `to` is the folder its file, and as its value the program's hash: the
/// rewriter refuses it for another program, though that has the same fingerprint.
void name_cache_files(const Pipeline& pipeline, Plan& plan);

/// What a person must know who keeps such files; empty: the plan has none.
std::string cache_file_advice(const Plan& plan);

}  // namespace plumber
