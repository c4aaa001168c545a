// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/number_format.h"
#include "ops/file_records.h"
#include "ops/rules.h"
#include "pipeline/below.h"

namespace plumber {
namespace {

using fmt::format;

constexpr double kWaits = 3;             // wall over CPU of a reader
constexpr double kMoreReaders = 4;       // times as many
constexpr double kSlow_bytes = 0x1p30;   // some ten seconds of a disk
constexpr double kPageCacheShare = 0.8;  // of the memory that the pipeline leaves
constexpr double kGrowth = 4;
constexpr double kWorthSaying_bytes = 64.0 * (1 << 20);

// Bytes of all files that the reader reads in an epoch: theirs, else those of its records.
std::optional<double> bytes_read(const Inspection& look, const FileRecords& files, NodeId reader) {
  const auto bytes = files.file_bytes(reader);
  return bytes ? bytes : look.analysis.nodes[reader].materialized_bytes;
}

std::vector<NodeId> readers_below(const Pipeline& p, NodeId top) {
  std::vector<NodeId> readers = all_below(p, {top});
  std::erase_if(readers, [&](NodeId n) { return p[n].kind != Kind::kFileSource; });
  return readers;
}

// All that an epoch reads below a node; nullopt where a size is not known, or nothing is read.
std::optional<double> epoch_bytes(const Inspection& look, NodeId top) {
  const FileRecords files(look.pipeline);
  const auto readers = readers_below(look.pipeline, top);
  double sum = 0;
  for (const NodeId reader : readers) {
    const auto bytes = bytes_read(look, files, reader);
    if (!bytes) return std::nullopt;
    sum += *bytes;
  }
  return readers.empty() ? std::nullopt : std::optional(sum);
}

// Four times as many files open at once.
std::optional<double> gain_of_readers(const Inspection& look, NodeId reader) {
  if (!look.pipeline[reader].outer) return std::nullopt;
  const NodeId outer = *look.pipeline[reader].outer;
  Pipeline p = look.pipeline;
  Setting changed = look.analysis.setting;
  const double now = readers_at_once(p[outer], changed[outer]);
  changed[outer].mode = Mode::kParallel;
  changed[outer].parallelism = kMoreReaders * now;
  p[outer].cycle_length = static_cast<std::int64_t>(kMoreReaders * now);
  p[outer].threading = Threading::kParallelInterleave;
  return gain_between(look, evaluate(p, look.analysis.costs, changed, look.machine));
}

}  // namespace

// A cache or snapshot in files of what grew since it was read.
void find_grown_files(const Inspection& look, NodeId cache, std::vector<Remark>& found) {
  const Node& node = look.pipeline[cache];
  const bool in_files =
      node.kind == Kind::kCache ? !node.cache_file.empty() : node.op.starts_with("SnapshotDataset");
  const auto bytes = look.analysis.nodes[cache].materialized_bytes;
  if (!in_files || !bytes || *bytes < kWorthSaying_bytes) return;
  const auto read = epoch_bytes(look, cache);
  if (!read || !(*read > 0) || *bytes < kGrowth * *read) return;
  found.push_back(
      {{node.name},
       format("{} writes elements to disk that were much smaller in the files they came from: each "
              "epoch reads them back",
              said(node)),
       format("{} on disk of {} in files, {:.0f} times as much", format_bytes(*bytes),
              format_bytes(*read), *bytes / *read),
       std::nullopt,
       ".cache(filename)  # below what makes elements large, or none"});
}

// What memory the pipeline leaves keeps the files of an epoch, or does not.
void find_page_cache(const Inspection& look, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  const double memory = p.machine.memory_total_bytes - look.analysis.memory.held_bytes;
  const auto bytes = epoch_bytes(look, p.root);
  const std::vector<NodeId> readers = readers_below(p, p.root);
  const bool read_once = std::ranges::all_of(
      readers, [&](NodeId reader) { return look.analysis.nodes[reader].below_cache; });
  if (!(memory > 0) || !bytes || *bytes < kSlow_bytes || read_once) return;
  const bool fits = *bytes <= kPageCacheShare * memory;
  Remark remark;
  for (const NodeId reader : readers) remark.nodes.push_back(p[reader].name);
  remark.text = fits
                    ? "the files fit into the memory that the pipeline leaves: the system keeps "
                      "them there, and a disk limits the first epoch only"
                    : "the files do not fit into memory: every epoch reads them from the disk, and "
                      "a trace of files that were in memory is faster than that";
  remark.evidence = format("{} of files, {} of memory beside the pipeline's own",
                           format_bytes(*bytes), format_bytes(memory));
  if (!fits) remark.python = "# plumber optimize --disk RATE counts the disk";
  found.push_back(std::move(remark));
}

// Readers in parallel need several files.
void find_one_file(const Inspection& look, NodeId n, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  if (p[n].threading != Threading::kParallelInterleave || p[n].inputs.empty()) return;
  const auto& list = look.analysis.nodes[p[n].inputs.front()].elements_per_epoch;
  if (list.kind != Cardinality::Kind::kKnown || list.elements != 1) return;
  found.push_back(
      {{p[n].name},
       format("{} reads in parallel, but from one file: one reader does all the work", said(p[n])),
       format("1 file, {} at once allowed", p[n].cycle_length.value_or(1)),
       std::nullopt,
       "# write the data into several files, of 100 MB or more each"});
}

void find_nested_reads(const Inspection& look, NodeId n, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  if (!p[n].outer || p[n].threading != Threading::kParallelInterleave) return;
  const NodeId outer = *p[n].outer;
  if (p[outer].threading != Threading::kParallelInterleave) return;
  found.push_back(
      {{p[outer].name, p[n].name},
       format("{} reads in parallel inside {}, which does so too: one of them is enough",
              said(p[n]), said(p[outer])),
       format("{} open files in each of {}", p[n].cycle_length.value_or(1),
              p[outer].cycle_length.value_or(1)),
       std::nullopt,
       "# leave out num_parallel_reads inside .interleave()"});
}

// Dialect opstats only: there wall time and CPU of a reader are known apart.
void find_waiting_reader(const Inspection& look, NodeId reader, std::vector<Remark>& found) {
  const Pipeline& p = look.pipeline;
  const NodeAnalysis& node = look.analysis.nodes[reader];
  if (p.dialect != Dialect::kOpstats || look.now.bounds.empty()) return;
  if (p[reader].kind != Kind::kFileSource || node.below_cache || !node.cpu_s_per_element) return;
  const auto& binding = look.now.bounds.front().nodes;
  const bool binds = std::ranges::find(binding, reader) != binding.end();
  if (!binds || node.service_s < kWaits * *node.cpu_s_per_element) return;
  found.push_back({{p[reader].name},
                   format("{} waits for its files rather than reads them: more files open at "
                          "once would hide that",
                          said(p[reader])),
                   format("{} a record, of which {} on a core", format_seconds(node.service_s),
                          format_seconds(*node.cpu_s_per_element)),
                   gain_of_readers(look, reader),
                   ".interleave(..., cycle_length=4*N, num_parallel_calls=4*N)"});
}

}  // namespace plumber
