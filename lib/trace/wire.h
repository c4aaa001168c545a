// SPDX-License-Identifier: Apache-2.0
// From the bytes of a file to a protobuf message, with errors that say what the bytes are instead.
#pragma once

#include <string>

#include "trace.pb.h"

namespace plumber {

/// A PipelineSnapshot that holds a program. Throws Error(kInput): empty, truncated, not a protobuf,
/// text with a mistake (line:column), a bare GraphDef, a bare ModelProto, no program inside.
trace::PipelineSnapshot parse_snapshot(const std::string& name, const std::string& bytes);

/// A bare GraphDef (`--graph`) and a bare ModelProto (`--model`), binary or text.
tensorflow::GraphDef parse_graph(const std::string& name, const std::string& bytes);
tensorflow::data::model::ModelProto parse_model(const std::string& name, const std::string& bytes);

}  // namespace plumber
