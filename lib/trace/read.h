// SPDX-License-Identifier: Apache-2.0
// Reads traces (design §2): one PipelineSnapshot, binary or text, gzip or not; several of one
// program; a directory of periodic dumps; or a bare GraphDef beside a bare ModelProto.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"

namespace plumber {

/// Bytes of one file, and what to call it in messages.
struct TraceBytes {
  std::string name;
  std::string bytes;
};

/// Decodes one trace from the bytes of its files; dumps are ordered by their time.
/// Throws Error(kInput) with file, place, cause and way out.
Trace decode_trace(const std::vector<TraceBytes>& files);

/// The same from a bare GraphDef and a bare ModelProto (`--graph`, `--model`).
Trace decode_graph_and_model(const TraceBytes& graph, const TraceBytes& model);

/// Reads `paths`: one file, several, or one directory of dumps (files *.pb, *.pbtxt, *.gz by name).
/// Standard input is the caller's business: it hands its bytes to decode_trace.
Trace read_trace(const std::vector<std::string>& paths);

}  // namespace plumber
