// SPDX-License-Identifier: Apache-2.0
// A program as bytes: what tf.raw_ops.DatasetFromGraph takes, or the same as text. One program
// gives the same bytes always (maps are written in the order of their keys).
#pragma once

#include <string>

#include "pipeline/plan.h"
#include "rewrite/apply_plan.h"

namespace tensorflow {
class GraphDef;
}

namespace plumber {

/// Binary GraphDef; fields that we do not know are kept.
std::string graph_bytes(const tensorflow::GraphDef& graph);

/// Text GraphDef. Fields that we do not know have numbers but no names, which no reader of text
/// accepts: they are left out.
std::string graph_text(const tensorflow::GraphDef& graph);

enum class ProgramFormat { kBinary, kText };

/// The program after the plan (apply_plan), as bytes: for callers that know no GraphDef.
std::string rewritten_program(const tensorflow::GraphDef& graph, const Plan& plan,
                              ProgramFormat format, const RewriteNames& names = {});

}  // namespace plumber
