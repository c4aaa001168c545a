// SPDX-License-Identifier: Apache-2.0
// One small report in every format: the same values, each format in full.
#include "report/render.h"

#include "catch2_any.h"

using namespace plumber;

namespace {

Report small_report() {
  Report report;
  report.sections.push_back(
      {"", "",
       Prose{{{"The map limits the pipeline to {}.", {{Unit::kPerSecond, 59.2432111111}}}}}});
  report.sections.push_back(
      {"rate", "", Fields{{{"observed_per_s", "", Unit::kPerSecond, 55.76}, {"ci", "", {}, {}}}}});
  Table nodes;
  nodes.columns = {{"name", "node", Unit::kNone, true},
                   {"cache.legal", "", Unit::kNone},
                   {"service_s", "time", Unit::kSeconds},
                   {"", "notes", Unit::kNone}};
  nodes.rows = {{{"read, \"all\"", true, 0.000041, "cacheable"}, false},
                {{"a_map_with_a_rather_long_name/_14", false, 0.0169123456789, "limits"}, true}};
  report.sections.push_back({"nodes", "Nodes", nodes});
  Table advice;
  advice.layout = Layout::kItems;
  advice.columns = {{"text", "advice", Unit::kNone},
                    {"gain_per_s", "gain", Unit::kGainPerSecond},
                    {"python", "python", Unit::kNone}};
  advice.rows = {{{"Run more calls.", 57.1, ".map(f, num_parallel_calls=2)"}, false},
                 {{"Look at the disk.", {}, {}}, false}};
  report.sections.push_back({"advice.items", "Advice", advice});
  report.csv_section = "nodes";
  report.graph.nodes = {{"read", "read", {}, false, true},
                        {"map", "map (f)", {"{} each", {{Unit::kSeconds, 0.0169}}}, true, false}};
  report.graph.edges = {{"read", "map", true}};
  return report;
}

}  // namespace

TEST_CASE("Text: titled sections, rounded, elided to the width") {
  CHECK(render_text(small_report(), {false, false, 44}) ==
        R"(The map limits the pipeline to 59.2/s.

Nodes
  node                       time  notes
  read, "all"               41 us  cacheable
  a_map_wit...g_name/_14  16.9 ms  limits

Advice
  1. Run more calls.
     gain:     +57.1/s
     python:   .map(f, num_parallel_calls=2)
  2. Look at the disk.
)");
}

TEST_CASE("Text: a long table ends in the way to see the rest") {
  Report report = small_report();
  std::get<Table>(report.sections[2].body).shown = 1;
  CHECK(render_text(report, {}).find("  ... 1 more: -v shows them\n") != std::string::npos);
  CHECK(render_text(report, {false, true, 110}).find("-v") == std::string::npos);
}

TEST_CASE("Text: colours frame the answer and the rows that matter") {
  const std::string text = render_text(small_report(), {true, false, 110});
  CHECK(text.starts_with("\033[1mThe map limits the pipeline to 59.2/s.\033[0m\n"));
  CHECK(text.find("\033[1;33m  a_map_with") != std::string::npos);
}

TEST_CASE("JSON: keys, nesting by dots, nine digits, null for what is unknown") {
  CHECK(render_json(small_report()) == R"json({
  "rate": {"observed_per_s": 55.76, "ci": null},
  "nodes": [
    {"name": "read, \"all\"", "cache": {"legal": true}, "service_s": 4.1e-05},
    {
      "name": "a_map_with_a_rather_long_name/_14",
      "cache": {"legal": false},
      "service_s": 0.0169123457
    }
  ],
  "advice": {
    "items": [
      {"text": "Run more calls.", "gain_per_s": 57.1, "python": ".map(f, num_parallel_calls=2)"},
      {"text": "Look at the disk.", "gain_per_s": null, "python": null}
    ]
  }
}
)json");
}

TEST_CASE("JSON: bytes that are no UTF-8 do not break the document") {
  Report report;
  report.sections = {{"", "", Fields{{{"name", "", Unit::kNone, std::string("a\xff")}}}}};
  CHECK(render_json(report) == "{\"name\": \"a\xEF\xBF\xBD\"}\n");
}

TEST_CASE("CSV: the table of nodes, quoted where it must be") {
  CHECK(render_csv(small_report()) ==
        "name,cache.legal,service_s\n"
        "\"read, \"\"all\"\"\",true,4.1e-05\n"
        "a_map_with_a_rather_long_name/_14,false,0.0169123457\n");
}

TEST_CASE("DOT: nodes by name, the bottleneck filled, inner data sets dashed") {
  CHECK(render_dot(small_report()) == R"(digraph pipeline {
  rankdir=BT;
  node [shape=box, fontname="sans-serif"];
  "read" [label="read", color=gray, fontcolor=gray];
  "map" [label="map (f)\n16.9 ms each", style=filled, fillcolor="#ffd0c0"];
  "read" -> "map" [style=dashed];
}
)");
}
