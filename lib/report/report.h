// SPDX-License-Identifier: Apache-2.0
// What a command answers, before any format is chosen. Views (analysis_view, plan_view, show_view)
// put raw values here and compute nothing; renderers (text, json, csv, dot) choose keys or titles
// and only they round. So text and JSON are the same values and cannot drift apart.
//
//   Section "nodes"  Table   columns {key "name", title "node"}, {key "busy_cores", title "cores"}
//   ...
//                            text: a table of the columns with a title
//                            JSON: "nodes": [{"name": ..., "busy_cores": ...}, ...] of those with a
//                            key
//   Section "rate"   Fields  text: "title: value" lines; JSON: an object. A dot in a key nests.
//   Section ""       Prose   sentences with values in them; for people only
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace plumber {

enum class Unit {
  kNone,
  kCount,
  kSeconds,
  kPerSecond,
  kBytes,
  kBytesPerSecond,
  kShare,
  kGainPerSecond,  // a rate with its sign
  kCores,
};

/// nullopt-like monostate is null in JSON and "-" in text.
using Value = std::variant<std::monostate, bool, double, std::string, std::vector<std::string>,
                           std::vector<double>>;

/// The value of an optional, or null.
template <class T>
Value value_of(const std::optional<T>& optional) {
  return optional ? Value(*optional) : Value();
}

struct Field {
  std::string key;    // empty: for people only
  std::string title;  // empty: for programs only
  Unit unit = Unit::kNone;
  Value value;
};

struct Fields {
  std::vector<Field> fields;
};

/// "{}" in the pattern stands for the next value.
struct Sentence {
  std::string pattern;
  std::vector<std::pair<Unit, Value>> values;

  Sentence& operator+=(const Sentence& other) {
    pattern += other.pattern;
    values.insert(values.end(), other.values.begin(), other.values.end());
    return *this;
  }
};

struct Prose {
  std::vector<Sentence> sentences;
};

enum class Layout {
  kTable,
  kItems,  // numbered paragraphs: the first titled column leads, the others follow as "title:
           // value"
};

struct ReportColumn {
  std::string key;
  std::string title;
  Unit unit = Unit::kNone;
  bool elastic = false;      // elided in the middle when the table is too wide
  std::string expendable{};  // a part of its texts to leave out before that
};

struct ReportRow {
  std::vector<Value> cells;
  bool highlighted = false;
  bool for_programs = false;  // text leaves it out
};

struct Table {
  std::vector<ReportColumn> columns;
  std::vector<ReportRow> rows;
  Layout layout = Layout::kTable;
  std::size_t shown = 1000000;  // rows that text shows unless all are asked for
};

struct Section {
  std::string key;
  std::string title;  // heading in text; a section without one shows its content alone
  std::variant<Fields, Table, Prose> body;
  Sentence legend{};  // below the heading: what the columns mean, or the sum of it
};

struct GraphNode {
  std::string id;
  std::string label;
  Sentence note;  // second line
  bool highlighted = false;
  bool faded = false;
};

struct GraphEdge {
  std::string from;
  std::string to;
  bool inner = false;  // to the data sets that a function makes
};

struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
};

struct Report {
  std::vector<Section> sections;
  std::string csv_section;  // key of the section that a CSV holds
  Graph graph;              // what a DOT file holds
};

}  // namespace plumber
