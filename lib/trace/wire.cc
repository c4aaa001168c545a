// SPDX-License-Identifier: Apache-2.0
#include "trace/wire.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/error.h"

namespace plumber {
namespace {

using google::protobuf::Message;
using google::protobuf::TextFormat;
using tensorflow::GraphDef;
using tensorflow::data::model::ModelProto;

constexpr const char* kTraceAgain =
    "record it again with scripts/plumber_tf.py trace; it writes whole files only";

Error input_error(const std::string& where, const std::string& message, const std::string& hint) {
  return Error(ErrorKind::kInput, where, message, hint);
}

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!found) found = std::to_string(line + 1) + ":" + std::to_string(column + 1);
    if (text.empty()) text = message;
  }
  void AddWarning(int, int, const std::string&) override {}
  std::optional<std::string> found;
  std::string text;
};

// Binary traces hold control bytes within their first tags; text starts with a word or a comment.
bool looks_like_text(const std::string& bytes) {
  const std::size_t start = bytes.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) return false;
  const char first = bytes[start];
  if (first != '#' && first != '_' && (first < 'a' || first > 'z')) return false;
  const std::string head = bytes.substr(0, 4096);
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u >= 0x20 || c == '\t' || c == '\n' || c == '\r';
  });
}

bool parse_text(const std::string& bytes, Message& message, FirstError& error) {
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.AllowUnknownField(true);
  return parser.ParseFromString(bytes, &message);
}

constexpr std::uint64_t kHighestField = 200;  // of a trace, with room to grow

// The number of the top-level field that runs past the end of the bytes, if one does.
std::optional<std::uint64_t> truncated_field(const std::string& bytes) {
  std::size_t at = 0;
  const auto varint = [&](std::uint64_t& value) {
    value = 0;
    for (int shift = 0; at < bytes.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  };
  while (at < bytes.size()) {
    std::uint64_t tag = 0, length = 0;
    if (!varint(tag)) return std::nullopt;
    const std::uint64_t field = tag >> 3;
    if (field == 0 || field > kHighestField) return std::nullopt;
    switch (tag & 7) {
      case 0:
        length = 0;
        if (std::uint64_t v; !varint(v)) return field;
        break;
      case 1:
        length = 8;
        break;
      case 2:
        if (!varint(length)) return field;
        break;
      case 5:
        length = 4;
        break;
      default:
        return std::nullopt;
    }
    if (length > bytes.size() - at) return field;
    at += length;
  }
  return std::nullopt;
}

bool is_program(const GraphDef& graph) {
  return graph.node_size() > 0 &&
         std::all_of(graph.node().begin(), graph.node().end(),
                     [](const auto& node) { return !node.op().empty() && !node.name().empty(); });
}

bool is_model(const ModelProto& model) {
  return model.nodes().contains(model.output()) &&
         std::all_of(model.nodes().begin(), model.nodes().end(),
                     [](const auto& entry) { return !entry.second.name().empty(); });
}

template <class M>
bool parse_any(const std::string& bytes, M& message) {
  if (looks_like_text(bytes)) {
    FirstError ignored;
    if (parse_text(bytes, message, ignored)) return true;
    message.Clear();
  }
  return message.ParseFromString(bytes);
}

// What the bytes are instead of a trace, as the error to throw.
Error what_else(const std::string& name, const std::string& bytes) {
  GraphDef graph;
  if (parse_any(bytes, graph) && is_program(graph))
    return input_error(name, "this is a bare GraphDef: a program without counters",
                       "give its counters too: --graph " + name + " --model MODEL.pb");
  ModelProto model;
  if (parse_any(bytes, model) && is_model(model))
    return input_error(name, "this is a bare ModelProto: counters without their program",
                       "give its program too: --graph GRAPH.pb --model " + name);
  if (const auto field = truncated_field(bytes))
    return input_error(name, "the file ends in the middle of field " + std::to_string(*field),
                       kTraceAgain);
  return input_error(name, "this is not a trace (a PipelineSnapshot protobuf)",
                     "a trace is what scripts/plumber_tf.py trace writes");
}

Error text_error(const std::string& name, const FirstError& error) {
  return input_error(name + ":" + error.found.value_or("1:1"), error.text,
                     "it was read as a trace in protobuf's text form; a trace is what "
                     "scripts/plumber_tf.py trace writes");
}

void refuse_empty(const std::string& name, const std::string& bytes) {
  if (bytes.empty()) throw input_error(name, "the file is empty", kTraceAgain);
}

}  // namespace

trace::PipelineSnapshot parse_snapshot(const std::string& name, const std::string& bytes) {
  const google::protobuf::LogSilencer silence;  // what is wrong is said once, in our words
  refuse_empty(name, bytes);
  trace::PipelineSnapshot snapshot;
  if (looks_like_text(bytes)) {
    FirstError error;
    if (parse_text(bytes, snapshot, error) && is_program(snapshot.graph())) return snapshot;
    GraphDef graph;
    ModelProto model;
    FirstError ignored;
    const bool other = (parse_text(bytes, graph, ignored) && is_program(graph)) ||
                       (parse_text(bytes, model, ignored) && is_model(model));
    const bool begins_well = snapshot.ByteSizeLong() > 0;
    if (!other && begins_well && error.found) throw text_error(name, error);
  } else if (snapshot.ParseFromString(bytes) && is_program(snapshot.graph())) {
    return snapshot;
  }
  if (snapshot.ParseFromString(bytes) && snapshot.stats_size() > 0 &&
      snapshot.graph().node_size() == 0)
    throw input_error(name, "the trace holds counters but no program", kTraceAgain);
  throw what_else(name, bytes);
}

GraphDef parse_graph(const std::string& name, const std::string& bytes) {
  const google::protobuf::LogSilencer silence;  // what is wrong is said once, in our words
  refuse_empty(name, bytes);
  GraphDef graph;
  if (!parse_any(bytes, graph) || !is_program(graph))
    throw input_error(name, "this is not a GraphDef",
                      "a GraphDef is what tf.raw_ops.DatasetToGraphV2 returns");
  return graph;
}

ModelProto parse_model(const std::string& name, const std::string& bytes) {
  const google::protobuf::LogSilencer silence;  // what is wrong is said once, in our words
  refuse_empty(name, bytes);
  ModelProto model;
  if (!parse_any(bytes, model) || !is_model(model))
    throw input_error(name, "this is not a ModelProto",
                      "a ModelProto is what tf.data.experimental.get_model_proto returns");
  return model;
}

}  // namespace plumber
