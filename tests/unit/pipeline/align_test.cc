// SPDX-License-Identifier: Apache-2.0
// Programs as lines "name op inputs {attributes}", iterators as lines "id name elements inputs";
// the result as lines "node: elements, iterators".
#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <sstream>

#include "base/error.h"
#include "catch2_any.h"
#include "pipeline/pipeline.h"
#include "trace.pb.h"
#include "trace/read.h"

namespace plumber {
namespace {

// "const NAME INT" or "NAME OP INPUT..."; the last line's node is the root.
std::string program(const std::string& lines) {
  std::istringstream in(lines);
  std::string line, text, last;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string name, op, input;
    if (!(words >> name)) continue;
    if (name == "const") {
      std::int64_t value = 0;
      words >> name >> value;
      text += fmt::format(
          "node {{ name: '{}' op: 'Const' attr {{ key: 'value' value {{ tensor {{ dtype: DT_INT64 "
          "tensor_shape {{ }} int64_val: {} }} }} }} }}\n",
          name, value);
      continue;
    }
    words >> op;
    text += fmt::format("node {{ name: '{}' op: '{}'", name, op);
    while (words >> input) {
      if (input.starts_with("f="))
        text +=
            fmt::format(" attr {{ key: 'f' value {{ func {{ name: '{}' }} }} }}", input.substr(2));
      else
        text += fmt::format(" input: '{}'", input);
    }
    text += " }\n";
    last = name;
  }
  return text + fmt::format("node {{ name: 'dataset' op: '_Retval' input: '{}' }}\n", last);
}

// "ID NAME ELEMENTS INPUT_ID..."; the first line is the root's input.
std::string model(const std::string& lines) {
  std::istringstream in(lines);
  std::string line, text;
  int first = 0;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    int id = 0, input = 0;
    long elements = 0;
    std::string name;
    if (!(words >> id >> name >> elements)) continue;
    if (first == 0) first = id;
    text += fmt::format("nodes {{ key: {0} value {{ id: {0} name: '{1}' num_elements: {2}", id,
                        name, elements);
    while (words >> input) text += fmt::format(" inputs: {}", input);
    text += " } }\n";
  }
  return text + fmt::format(
                    "nodes {{ key: 1000 value {{ id: 1000 name: 'Root' num_elements: 1 inputs: {} "
                    "}} }} output: 1000",
                    first);
}

Pipeline aligned(const std::string& graph, const std::string& iterators,
                 const std::string& library = "") {
  const std::string text = fmt::format("graph {{ {} library {{ {} }} }} model {{ {} }}",
                                       program(graph), library, model(iterators));
  return build_pipeline(decode_trace({{"t.pbtxt", text}}));
}

std::string describe(const Pipeline& p) {
  std::string text;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const Counters& c = p.dumps.back().counters[static_cast<NodeId>(i)];
    text += fmt::format("{}: {}, {}\n", p.nodes[i].name, c.elements, c.iterators);
  }
  for (const auto& name : p.unaligned.graph) text += "no iterator: " + name + "\n";
  for (const auto& name : p.unaligned.model) text += "no node: " + name + "\n";
  return text;
}

}  // namespace

TEST_CASE("each epoch's iterators add up below a repeat") {
  CHECK(describe(aligned("const n -1\n"
                         "range RangeDataset\n"
                         "map MapDataset range\n"
                         "repeat RepeatDataset map n\n",
                         "1 ForeverRepeat 25 2 4\n"
                         "2 Map 10 3\n"
                         "3 Range 10\n"
                         "4 Map 15 5\n"
                         "5 Range 15\n")) ==
        "range: 25, 2\n"
        "map: 25, 2\n"
        "repeat: 25, 1\n");
}

TEST_CASE("the parts of a snapshot are the snapshot's") {
  CHECK(describe(aligned("range RangeDataset\n"
                         "snapshot SnapshotDatasetV2 range f=readers\n"
                         "map MapDataset snapshot\n",
                         "1 Map 30 2 7\n"
                         "2 Snapshot 10 3\n"
                         "3 SnapshotWriter 10 4\n"
                         "4 Range 10\n"
                         "7 Snapshot 20 8\n"
                         "8 SnapshotReader 20 9\n"
                         "9 ParallelInterleaveV4 20 10 11\n"
                         "10 SnapshotNestedDatasetReader 2\n"
                         "11 SnapshotDatasetReader/_0 20\n",
                         "function { signature { name: 'readers' } ret { key: 'r' value: "
                         "'inter:handle:0' } node_def { name: 'inter' op: "
                         "'ParallelInterleaveDatasetV4' input: 'args_0' } }")) ==
        "range: 10, 1\n"
        "snapshot>inter: 20, 1\n"
        "snapshot: 30, 2\n"
        "map: 30, 1\n");
}

TEST_CASE("parts of a snapshot that read each other, in a damaged trace, end the walk") {
  CHECK(describe(aligned("range RangeDataset\n"
                         "snapshot SnapshotDatasetV2 range\n",
                         "1 Snapshot 10 2\n"
                         "2 SnapshotReader 10 3\n"
                         "3 SnapshotReader 10 2\n")) ==
        "range: 0, 0\n"
        "snapshot: 10, 1\n"
        "no iterator: range\n");
}

TEST_CASE("a data set that a function captures is no input") {
  CHECK(describe(aligned("range RangeDataset\n"
                         "other RangeDataset\n"
                         "map MapDataset range other\n",
                         "1 Map 30 2\n"
                         "2 Range 30\n")) ==
        "range: 30, 1\n"
        "map: 30, 1\n");
}

TEST_CASE("windows that a flat_map hands on are not its list") {
  CHECK(describe(aligned("range RangeDataset\n"
                         "window WindowDataset range\n"
                         "flat FlatMapDataset window\n",
                         "1 FlatMap 30 2 4 5\n"
                         "2 Window 5 3\n"
                         "3 Range 30\n"
                         "4 Window 6\n"
                         "5 Window 6\n")) ==
        "range: 30, 1\n"
        "window: 5, 1\n"
        "flat: 30, 1\n");
}

TEST_CASE("TensorFlow's default rewrites are undone") {
  CHECK(describe(aligned("const n -1\nconst sixteen 16\nconst zero 0\n"
                         "range RangeDataset\n"
                         "skip SkipDataset range zero\n"
                         "map MapDataset skip\n"
                         "shuffle ShuffleDatasetV3 map sixteen\n"
                         "repeat RepeatDataset shuffle n\n"
                         "decode MapDataset repeat\n"
                         "batch BatchDatasetV2 decode sixteen zero\n",
                         "1 Prefetch 4 2\n"
                         "2 MapAndBatch 4 3\n"
                         "3 ShuffleAndRepeat 70 4\n"
                         "4 ParallelMapV2 80 5\n"
                         "5 Range 81\n")) ==
        "range: 81, 1\n"
        "skip: 0, 0\n"
        "map: 80, 1\n"
        "shuffle: 70, 1\n"
        "repeat: 70, 1\n"
        "decode: 4, 1\n"
        "batch: 4, 1\n"
        "no iterator: skip\n");
}

TEST_CASE("a memory cache is two iterators, its reader has no input") {
  CHECK(describe(aligned("const n -1\n"
                         "range RangeDataset\n"
                         "cache CacheDatasetV2 range\n"
                         "repeat RepeatDataset cache n\n",
                         "1 ForeverRepeat 20 2 5\n"
                         "2 MemoryCache 10 3\n"
                         "3 MemoryCacheImpl 10 4\n"
                         "4 Range 10\n"
                         "5 MemoryCache 10 6\n"
                         "6 MemoryCacheImpl 10\n")) ==
        "range: 10, 1\n"
        "cache: 20, 2\n"
        "repeat: 20, 1\n");
}

TEST_CASE("an interleave's first iterator is its list, the others are its function's") {
  const std::string library =
      "function { signature { name: 'read' input_arg { name: 'x' type: DT_STRING } "
      "output_arg { name: 'y' type: DT_VARIANT } } "
      "node_def { name: 'slices' op: 'TensorSliceDataset' input: 'x' } "
      "node_def { name: 'id' op: 'Identity' input: 'slices:handle:0' } "
      "ret { key: 'y' value: 'id:output:0' } }";
  CHECK(describe(aligned("files TensorSliceDataset\n"
                         "mix InterleaveDataset files f=read\n",
                         "1 Interleave 30 2 3 4\n"
                         "2 TensorSlice 2\n"
                         "3 TensorSlice 10\n"
                         "4 TensorSlice 20\n",
                         library)) ==
        "files: 2, 1\n"
        "mix>slices: 30, 2\n"
        "mix: 30, 1\n");
}

TEST_CASE("what fits nowhere is listed with both sides") {
  CHECK(describe(aligned("range RangeDataset\n"
                         "map MapDataset range\n",
                         "1 Map 10 2\n"
                         "2 Strange 10 3\n"
                         "3 Stranger 10\n")) ==
        "range: 0, 0\n"
        "map: 10, 1\n"
        "no iterator: range\n"
        "no node: Strange\n"
        "no node: Stranger\n");
}

TEST_CASE("a program without a root, with a cycle or with twins is refused") {
  const auto error = [](const std::string& graph) {
    try {
      build_pipeline(decode_trace({{"t.pbtxt", "graph { " + graph + " }"}}));
    } catch (const Error& e) {
      return e.where + ": " + e.what();
    }
    return std::string("no error");
  };
  CHECK(error("node { name: 'a' op: 'RangeDataset' }") ==
        "t.pbtxt: the program has no root: no _Retval node that returns a data set");
  CHECK(error("node { name: 'a' op: 'MapDataset' input: 'b' } node { name: 'b' op: 'MapDataset' "
              "input: 'a' } "
              "node { name: 'r' op: '_Retval' input: 'a' }") ==
        "t.pbtxt: node 'a': the program has a cycle: the node reads its own output");
  CHECK(error("node { name: 'a' op: 'RangeDataset' } node { name: 'a' op: 'RangeDataset' } "
              "node { name: 'r' op: '_Retval' input: 'a' }") == "t.pbtxt: two nodes are named 'a'");
}

TEST_CASE("a chain of 20,000 nodes neither overflows the stack nor takes long") {
  std::string graph = "n0 RangeDataset\n", iterators;
  const int length = 20000;
  for (int i = 1; i <= length; ++i) graph += fmt::format("n{} MapDataset n{}\n", i, i - 1);
  for (int i = length; i >= 1; --i) iterators += fmt::format("{} Map 7 {}\n", i + 1000, i + 999);
  iterators += "1000000 Range 7\n";
  const Pipeline p = aligned(graph, iterators);
  CHECK(p.size() == length + 1);
  CHECK(p.dumps.back().counters[static_cast<NodeId>(length)].elements == 7);
}

}  // namespace plumber
