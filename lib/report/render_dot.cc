// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"
#include "report/render.h"
#include "report/value_text.h"

namespace plumber {
namespace {

std::string quoted(const std::string& text) {
  std::string escaped;
  for (const char c : printable_lines(text)) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return '"' + escaped + '"';
}

std::string attributes(const GraphNode& node) {
  const std::string note = readable(node.note);
  std::string text = "label=" + quoted(note.empty() ? node.label : node.label + "\n" + note);
  if (node.highlighted) text += ", style=filled, fillcolor=\"#ffd0c0\"";
  if (node.faded) text += ", color=gray, fontcolor=gray";
  return text;
}

}  // namespace

std::string render_dot(const Report& report) {
  std::string text =
      "digraph pipeline {\n  rankdir=BT;\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (const GraphNode& node : report.graph.nodes) {
    text += "  " + quoted(node.id) + " [" + attributes(node) + "];\n";
  }
  for (const GraphEdge& edge : report.graph.edges) {
    text += "  " + quoted(edge.from) + " -> " + quoted(edge.to);
    text += edge.inner ? " [style=dashed];\n" : ";\n";
  }
  return text + "}\n";
}

}  // namespace plumber
