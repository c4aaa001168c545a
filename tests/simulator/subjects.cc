// SPDX-License-Identifier: Apache-2.0
#include "subjects.h"

#include <algorithm>
#include <cstdlib>

#include "pipeline/below.h"
#include "small_pipeline.h"
#include "trace/read.h"

namespace plumber::simulated {
namespace {

NodeId records(SmallPipeline& p, double per_root, double work_ms, std::int64_t cycle) {
  const double files = per_root / 1000;
  const NodeId list = p.source("TensorSliceDataset", {.elements = files});
  const NodeId reader =
      p.source("TFRecordDataset", {.work_ms = work_ms, .elements = per_root, .bytes = 1e5});
  const NodeId read =
      p.add("ParallelInterleaveDatasetV4", {list}, {.elements = per_root, .bytes = 1e5});
  p.pipeline[reader].outer = read;
  p.pipeline[read].inner = {reader};
  p.pipeline[read].cycle_length = cycle;
  p.pipeline[read].parallelism = kAutotune;
  return read;
}

SmallPipeline jpeg() {
  SmallPipeline p;
  const NodeId read = records(p, 128, 128 * 0.15, 16);
  const NodeId decode = p.random(
      p.map(read, "_decode", {.work_ms = 128 * 9, .calls = 128, .elements = 128, .bytes = 6e5}));
  p.finish(p.batch(decode, 128, {.work_ms = 20, .bytes = 7.7e7}));
  return p;
}

SmallPipeline filtered() {
  SmallPipeline p;
  const NodeId read = records(p, 256, 256 * 0.02, 8);
  const NodeId parse =
      p.map(read, "_parse", {.work_ms = 256 * 0.3, .calls = 256, .elements = 256, .bytes = 1e4});
  const NodeId keep =
      p.with_function(p.add("FilterDataset", {parse},
                            {.work_ms = 256 * 0.05, .calls = 256, .elements = 64, .bytes = 1e4}),
                      "_keep");
  const NodeId augment = p.random(
      p.map(keep, "_augment", {.work_ms = 64 * 2, .calls = 64, .elements = 64, .bytes = 2e4}));
  p.finish(p.batch(augment, 64, {.work_ms = 0.6, .bytes = 1.3e6}));
  return p;
}

Subject traced(const std::string& name) {
  const std::string path = std::string(PLUMBER_TESTDATA_DIR) + "/traces/" + name;
  const std::string file = name.starts_with("synthetic/") ? "/trace.pb" : ".pb";
  Subject subject{name, build_pipeline(read_trace({path + file})), {}};
  subject.analysis = analyze(subject.pipeline, {});
  return subject;
}

Subject made(const std::string& name, const SmallPipeline& p) {
  return {name, p.pipeline, p.analysis};
}

void scale_work(double times, Subject& subject) {
  for (NodeCost& cost : subject.analysis.costs.nodes) {
    cost.work_s *= times;
    cost.cpu_s *= times;
  }
}

void set_cycle(std::int64_t length, Subject& subject) {
  for (Node& node : subject.pipeline.nodes) {
    if (node.kind == Kind::kInterleave && !node.outer && node.cycle_length)
      node.cycle_length = length;
  }
}

bool makes_batches(const Node& node) {
  return !node.outer && (node.kind == Kind::kBatch || node.kind == Kind::kMapBatch);
}

void scale_batch(double times, Subject& subject) {
  Pipeline& p = subject.pipeline;
  std::vector<NodeId> batches;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (makes_batches(p[static_cast<NodeId>(i)])) batches.push_back(static_cast<NodeId>(i));
  if (batches.empty()) return;
  PerNode<char> below(p.size(), 0);
  for (const NodeId id : all_below(p, p[batches.back()].inputs)) below[id] = 1;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    NodeCost& cost = subject.analysis.costs.nodes[id];
    cost.work_s *= times;
    cost.cpu_s *= times;
    cost.disk_bytes *= times;
    if (below[id] != 0) {
      cost.calls *= times;
      cost.elements *= times;
      cost.iterators *= times;
    } else {
      subject.analysis.nodes[id].bytes_per_element *= times;
    }
  }
}

}  // namespace

Subject subject_of(const std::string& name) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t to = std::min(name.find(", ", from), name.size());
    words.push_back(name.substr(from, to - from));
    from = to + 2;
  }
  Subject subject = words[0] == "jpeg"       ? made("jpeg", jpeg())
                    : words[0] == "filtered" ? made("filtered", filtered())
                                             : traced(words[0]);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const double number = std::atof(words[i].substr(words[i].rfind(' ') + 1).c_str());
    if (words[i].starts_with("work x ")) scale_work(number, subject);
    if (words[i].starts_with("batch x ")) scale_batch(number, subject);
    if (words[i].starts_with("cycle ")) set_cycle(static_cast<std::int64_t>(number), subject);
  }
  subject.name = name;
  return subject;
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const char* name : {"imagenet_train", "imagenet_eval", "text_tokenize", "csv_table",
                           "zip_fixed", "bert_gzip", "cached_then_random", "jpeg", "filtered"})
    all.push_back(subject_of(name));
  return all;
}

std::vector<Subject> other_subjects() {
  std::vector<Subject> all;
  for (const char* name : {"imagenet_train_autotune",
                           "imagenet_train_defaultopts",
                           "imagenet_train_slow_consumer",
                           "python_function",
                           "synthetic/autotune",
                           "synthetic/imagenet",
                           "synthetic/in_flight",
                           "synthetic/linear",
                           "synthetic/shuffle_fill",
                           "synthetic/zip",
                           "synthetic/sequential_bound",
                           "imagenet_train, work x 0.2",
                           "imagenet_train, work x 5",
                           "imagenet_train, cycle 2",
                           "imagenet_train, cycle 16",
                           "imagenet_train, batch x 0.25",
                           "imagenet_train, batch x 4",
                           "imagenet_eval, work x 0.2",
                           "imagenet_eval, work x 5",
                           "imagenet_eval, cycle 16",
                           "imagenet_eval, batch x 0.25",
                           "imagenet_eval, batch x 4",
                           "text_tokenize, work x 0.2",
                           "text_tokenize, work x 5",
                           "text_tokenize, batch x 4",
                           "csv_table, work x 0.2",
                           "csv_table, work x 5",
                           "csv_table, batch x 0.25",
                           "csv_table, batch x 4",
                           "zip_fixed, work x 0.2",
                           "zip_fixed, work x 5",
                           "zip_fixed, batch x 4",
                           "bert_gzip, work x 0.2",
                           "bert_gzip, work x 5",
                           "bert_gzip, cycle 16",
                           "bert_gzip, batch x 4",
                           "cached_then_random, work x 0.2",
                           "cached_then_random, work x 5",
                           "cached_then_random, batch x 4",
                           "jpeg, work x 0.2",
                           "jpeg, work x 5",
                           "jpeg, cycle 2",
                           "jpeg, batch x 0.25",
                           "filtered, work x 0.2",
                           "filtered, work x 5",
                           "filtered, cycle 2",
                           "filtered, batch x 0.25",
                           "filtered, batch x 4"}) {
    all.push_back(subject_of(name));
  }
  return all;
}

}  // namespace plumber::simulated
