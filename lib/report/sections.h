// SPDX-License-Identifier: Apache-2.0
// Parts that several reports have in common.
#pragma once

#include "ops/analysis.h"
#include "report/report.h"

namespace plumber {

/// One field that only programs see, at the top of the document.
Section json_field(const std::string& key, Value value);

/// The table "memory.items", largest first as given; the sum stands below its title.
Section memory_items(const std::vector<MemoryItem>& items, const std::string& title, Sentence sum);

/// The table "limits.disks"; text shows it where there is more to say than one rate.
Section disks_section(const std::vector<Disk>& disks);

/// Nodes and edges of the program without any note.
Graph pipeline_graph(const Pipeline& pipeline);

/// kind, nodes and bound_per_s of a bound under `prefix`.
std::vector<Field> bound_fields(const Pipeline& pipeline, const Bound& bound,
                                const std::string& prefix);

}  // namespace plumber
