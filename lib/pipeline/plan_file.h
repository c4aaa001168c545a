// SPDX-License-Identifier: Apache-2.0
// Reads a plan file: the JSON that `plumber optimize` writes, possibly edited by a person since.
//
//   {"schema_version": 1, "graph_fingerprint": "91f0...", "edits": [
//     {"id": "E1", "edit": "set_parallelism", "node": "ParallelMapDatasetV2/_14", "value": 2},
//     ...],
//    "environment": {"TF_NUM_INTRAOP_THREADS": "1"}, "permissions": ["frozen-order"]}
//
// Read are these keys and of an edit also "to", "reason", "gain_per_s" and "python"; all others are
// results for people and programs and are ignored. An edit's id may be left out: it is then "E" and
// its place in the list. Null is as good as nothing.
#pragma once

#include <string>

#include "pipeline/plan.h"

namespace plumber {

/// `name` is what messages call the file. Throws Error(kInput) with the place and the way out.
Plan read_plan(const std::string& name, const std::string& text);

}  // namespace plumber
