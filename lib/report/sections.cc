// SPDX-License-Identifier: Apache-2.0
#include "report/sections.h"

#include "report/words.h"

namespace plumber {

Section json_field(const std::string& key, Value value) {
  return {"", "", Fields{{{key, "", Unit::kNone, std::move(value)}}}};
}

Section memory_items(const std::vector<MemoryItem>& items, const std::string& title, Sentence sum) {
  Table table;
  table.columns = {{"node", "", Unit::kNone},
                   {"what", "", Unit::kNone},
                   {"bytes", "bytes", Unit::kBytes},
                   {"", "what", Unit::kNone},
                   {"", "node", Unit::kNone, true}};
  table.shown = 5;
  for (const MemoryItem& item : items) {
    table.rows.push_back({{item.node, item.what, item.bytes, item.what, item.node}, false});
  }
  return {"memory.items", title, table, std::move(sum)};
}

Graph pipeline_graph(const Pipeline& pipeline) {
  Graph graph;
  for (const Node& node : pipeline.nodes) {
    graph.nodes.push_back({node.name, label_of(node), {}, false, false});
    for (const NodeId input : node.inputs) {
      graph.edges.push_back({pipeline[input].name, node.name, false});
    }
    for (const NodeId inner : node.inner) {
      graph.edges.push_back({pipeline[inner].name, node.name, true});
    }
  }
  return graph;
}

std::vector<Field> bound_fields(const Pipeline& pipeline, const Bound& bound,
                                const std::string& prefix) {
  return {{prefix + "kind", "", Unit::kNone, word_of(bound.kind)},
          {prefix + "nodes", "", Unit::kNone, names_of(pipeline, bound.nodes)},
          {prefix + "bound_per_s", "", Unit::kPerSecond, bound.bound_per_s}};
}

Section disks_section(const std::vector<Disk>& disks) {
  Table table;
  table.columns = {{"prefix", "files", Unit::kNone},
                   {"bytes_per_s", "at most", Unit::kBytesPerSecond},
                   {"one_reader_bytes_per_s", "one reader", Unit::kBytesPerSecond},
                   {"full_rate_readers", "readers for all of it", Unit::kCount}};
  bool any_curve = false;
  for (const Disk& disk : disks) {
    any_curve = any_curve || disk.curve.vertices.size() > 1;
    table.rows.push_back({{disk.prefix, full_disk_rate(disk.curve), disk_rate(disk.curve, 1),
                           static_cast<double>(full_rate_readers(disk.curve))},
                          false});
  }
  return {"limits.disks", any_curve || disks.size() > 1 ? "Disks" : "", table};
}

}  // namespace plumber
