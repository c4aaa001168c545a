// SPDX-License-Identifier: Apache-2.0
// From protobuf counters to plain values: one decoder for each dialect, one result type.
#pragma once

#include "trace.pb.h"
#include "trace/trace.h"

namespace plumber {

/// Counters of one snapshot. Negative times and counts become 0 and a warning.
Dump decode_dump(const trace::PipelineSnapshot& snapshot, std::vector<std::string>& warnings);

/// The iterator tree of a ModelProto, iterators by id; inputs that are gone are left out.
IteratorTree decode_model(const tensorflow::data::model::ModelProto& model,
                          std::vector<std::string>& warnings);

TraceMachine decode_machine(const trace::PipelineSnapshot& snapshot);

Recorder decode_recorder(const trace::Recorder& recorder);

}  // namespace plumber
