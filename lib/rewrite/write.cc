// SPDX-License-Identifier: Apache-2.0
#include "rewrite/write.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include "base/error.h"
#include "graph.pb.h"

namespace plumber {

std::string graph_bytes(const tensorflow::GraphDef& graph) {
  std::string bytes;
  bool is_complete = false;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    is_complete = graph.SerializeToCodedStream(&coded);
  }
  if (!is_complete) throw Error(ErrorKind::kInternal, "", "the program cannot be serialised");
  return bytes;
}

std::string graph_text(const tensorflow::GraphDef& graph) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetHideUnknownFields(true);
  std::string text;
  if (!printer.PrintToString(graph, &text))
    throw Error(ErrorKind::kInternal, "", "the program cannot be written as text");
  return text;
}

std::string rewritten_program(const tensorflow::GraphDef& graph, const Plan& plan,
                              ProgramFormat format, const RewriteNames& names) {
  const tensorflow::GraphDef result = apply_plan(graph, plan, names);
  return format == ProgramFormat::kText ? graph_text(result) : graph_bytes(result);
}

}  // namespace plumber
