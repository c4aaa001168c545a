// SPDX-License-Identifier: Apache-2.0
#include "trace/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "trace/decode.h"
#include "trace/gunzip.h"
#include "trace/wire.h"

namespace plumber {
namespace {

namespace fs = std::filesystem;

struct Parsed {
  std::string name;
  trace::PipelineSnapshot snapshot;
};

void refuse_strangers(const std::vector<Parsed>& parsed) {
  const Parsed& first = parsed.front();
  for (const Parsed& other : parsed) {
    const bool same_start =
        other.snapshot.snapshot_info().start_time() == first.snapshot.snapshot_info().start_time();
    const auto& a = first.snapshot.graph();
    const auto& b = other.snapshot.graph();
    bool same_graph = a.node_size() == b.node_size();
    for (int i = 0; same_graph && i < a.node_size(); ++i)
      same_graph = a.node(i).name() == b.node(i).name() && a.node(i).op() == b.node(i).op();
    if (same_start && same_graph) continue;
    throw Error(ErrorKind::kInput, other.name,
                fmt::format("this is not a dump of the same run as {}: {} differs", first.name,
                            same_graph ? "the start time" : "the program"),
                "several files of one trace are dumps of one run; give other traces one by one");
  }
}

void take_file_sizes(const trace::PipelineSnapshot& snapshot, Trace& trace) {
  for (const auto& file : snapshot.ctx_info().file_sizes())
    trace.file_bytes[file.name()] =
        static_cast<double>(std::max<std::int64_t>(0, file.size_bytes()));
  for (const auto& file : snapshot.recorder().source_files())
    trace.file_bytes[file.name()] =
        static_cast<double>(std::max<std::int64_t>(0, file.size_bytes()));
}

Dialect dialect_of(const trace::PipelineSnapshot& snapshot) {
  if (snapshot.model().nodes_size() > 0) return Dialect::kModel;
  return snapshot.stats_size() > 0 ? Dialect::kOpstats : Dialect::kNone;
}

std::vector<std::string> files_of_folder(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    const bool dump = extension == ".pb" || extension == ".pbtxt" || extension == ".gz";
    if (dump && entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty())
    throw Error(ErrorKind::kInput, folder, "there is no dump (*.pb, *.pbtxt, *.gz) in this folder",
                "give the folder that plumber_tf.py trace --every wrote, or one trace file");
  return files;
}

std::string last_component(const std::string& path) {
  fs::path p(path);
  if (!p.has_filename()) p = p.parent_path();
  return p.filename().string();
}

// The clock of a dump stands before the start of the run.
void warn_of_clock(const Parsed& dump, std::vector<std::string>& warnings) {
  const auto& info = dump.snapshot.snapshot_info();
  if (info.current_time() >= info.start_time()) return;
  warnings.push_back(fmt::format(
      "{}: its clock stands {:.3g} s before the start of the run", last_component(dump.name),
      (static_cast<double>(info.start_time()) - static_cast<double>(info.current_time())) * 1e-9));
}

// Of a model the root's alone: other iterators may be gone by the next dump.
double elements_of(const Dump& dump) {
  double elements = 0;
  for (const OpCounters& op : dump.ops) elements += op.elements;
  const std::int32_t root = dump.model.root;
  return root < 0 ? elements : dump.model.iterators[static_cast<std::size_t>(root)].elements;
}

// Counters only grow: dumps in the order of their clocks whose counters fall are none of one run,
// or somebody set the clock.
void warn_of_falling_counters(const std::vector<Dump>& dumps, const std::vector<std::string>& files,
                              std::vector<std::string>& warnings) {
  for (std::size_t i = 1; i < dumps.size(); ++i) {
    const double before = elements_of(dumps[i - 1]), now = elements_of(dumps[i]);
    const bool same_time = dumps[i].time_s > 0 && dumps[i].time_s == dumps[i - 1].time_s;
    if (now >= before && dumps[i].process_cpu_s >= dumps[i - 1].process_cpu_s && !same_time)
      continue;
    warnings.push_back(
        files[i - 1] + " and " + files[i] +
        (same_time ? " are dumps of the same moment"
                   : " run backwards: the later one has counted less, so the clock was set or they "
                     "are not of one run"));
  }
}

}  // namespace

Trace decode_trace(const std::vector<TraceBytes>& files) {
  if (files.empty()) throw Error(ErrorKind::kUsage, "", "no trace was given", "give a trace file");
  std::vector<Parsed> parsed;
  for (const TraceBytes& file : files)
    parsed.push_back(
        {file.name, parse_snapshot(file.name, gunzip_if_needed(file.name, file.bytes))});
  refuse_strangers(parsed);
  std::stable_sort(parsed.begin(), parsed.end(), [](const Parsed& a, const Parsed& b) {
    return a.snapshot.snapshot_info().current_time() < b.snapshot.snapshot_info().current_time();
  });
  Trace result;
  result.name = last_component(files.front().name);
  const trace::PipelineSnapshot& last = parsed.back().snapshot;
  result.dialect = dialect_of(last);
  std::vector<std::string> dumps;  // their files
  for (const Parsed& dump : parsed) {
    take_file_sizes(dump.snapshot, result);
    warn_of_clock(dump, result.warnings);
    if (dialect_of(dump.snapshot) == Dialect::kNone) continue;
    result.dumps.push_back(decode_dump(dump.snapshot, result.warnings));
    dumps.push_back(last_component(dump.name));
  }
  warn_of_falling_counters(result.dumps, dumps, result.warnings);
  result.machine = decode_machine(last);
  result.file_bytes_are_completed_only = result.dialect == Dialect::kOpstats;
  if (last.has_recorder()) {
    result.recorder = decode_recorder(last.recorder());
    for (const auto& warning : last.recorder().warnings()) result.warnings.push_back(warning);
  }
  result.graph =
      std::make_shared<tensorflow::GraphDef>(std::move(*parsed.back().snapshot.mutable_graph()));
  return result;
}

Trace decode_graph_and_model(const TraceBytes& graph, const TraceBytes& model) {
  Trace result;
  result.name = last_component(graph.name);
  result.dialect = Dialect::kModel;
  result.graph = std::make_shared<tensorflow::GraphDef>(
      parse_graph(graph.name, gunzip_if_needed(graph.name, graph.bytes)));
  Dump dump;
  dump.model = decode_model(parse_model(model.name, gunzip_if_needed(model.name, model.bytes)),
                            result.warnings);
  result.dumps.push_back(std::move(dump));
  result.warnings.push_back(
      "a bare ModelProto has no clock: rates per second and CPU use are unknown");
  return result;
}

Trace read_trace(const std::vector<std::string>& paths) {
  std::vector<std::string> files = paths;
  const bool folder = paths.size() == 1 && fs::is_directory(paths.front());
  if (folder) files = files_of_folder(paths.front());
  std::vector<TraceBytes> contents;
  for (const std::string& file : files) contents.push_back({file, read_file(file)});
  Trace trace = decode_trace(contents);
  if (folder) trace.name = last_component(paths.front());
  return trace;
}

}  // namespace plumber
