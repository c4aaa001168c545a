// SPDX-License-Identifier: Apache-2.0
#include "ops/file_records.h"

namespace plumber {
namespace {

constexpr NodeId kNone{-1};
constexpr NodeId kSeveral{-2};

std::optional<NodeId> found(NodeId n) {
  return n == kNone || n == kSeveral ? std::nullopt : std::optional(n);
}

// Bytes that a record takes in its file beyond its payload; nullopt for readers whose elements are
// no records of bytes.
std::optional<double> framing_bytes(const std::string& op) {
  if (op.starts_with("TFRecordDataset")) return 16;  // length, two checksums
  if (op.starts_with("TextLineDataset")) return 1;   // newline
  if (op.starts_with("FixedLengthRecordDataset")) return 0;
  return std::nullopt;
}

// A scalar string counts this much in bytes_produced besides its characters.
constexpr double kStringHeader_bytes = 24;

}  // namespace

FileRecords::FileRecords(const Pipeline& pipeline)
    : p_(pipeline), names_(pipeline.size(), kNone), reader_(pipeline.size(), kNone) {
  for (std::size_t i = 0; i < p_.size(); ++i) note(static_cast<NodeId>(i));
}

void FileRecords::note(NodeId n) {
  const Node& node = p_[n];
  if (!node.file_names.empty())
    names_[n] = n;
  else if (node.inputs.size() == 1)
    names_[n] = names_[node.inputs.front()];
  if (node.kind == Kind::kFileSource) reader_[n] = n;
  if (!node.outer || reader_[n] == kNone) return;
  NodeId& outer = reader_[*node.outer];
  outer = outer == kNone || outer == reader_[n] ? reader_[n] : kSeveral;
}

std::optional<double> FileRecords::bytes_of_a_named_file(NodeId n) const {
  const auto list = found(names_[n]);
  return list ? mean_file_bytes(p_[*list].file_names) : std::nullopt;
}

std::optional<NodeId> FileRecords::reader(NodeId n) const { return found(reader_[n]); }

std::optional<double> FileRecords::records_per_file(NodeId n, NodeId list) const {
  const auto names = found(names_[list]), reader = found(reader_[n]);
  if (!names || !reader) return std::nullopt;
  const auto per_record = file_bytes_of_a_record(*reader);
  const auto per_file = mean_file_bytes(p_[*names].file_names);
  if (!per_record || !per_file) return std::nullopt;
  return *per_file / *per_record;
}

// The node that spells out the files of a reader.
std::optional<NodeId> FileRecords::list_of(NodeId reader) const {
  NodeId n = reader;
  while (names_[n] == kNone && p_[n].outer) {
    n = *p_[n].outer;
    if (!p_[n].inputs.empty() && names_[p_[n].inputs.front()] != kNone) n = p_[n].inputs.front();
  }
  return found(names_[n]);
}

std::string FileRecords::first_file(NodeId reader) const {
  const auto names = list_of(reader);
  return names ? p_[*names].file_names.front() : "";
}

std::optional<double> FileRecords::file_bytes(NodeId reader) const {
  if (p_.file_bytes_are_completed_only) return std::nullopt;
  const auto names = list_of(reader);
  if (!names) return std::nullopt;
  const auto mean = mean_file_bytes(p_[*names].file_names);
  if (!mean) return std::nullopt;
  return *mean * static_cast<double>(p_[*names].file_names.size());
}

std::optional<double> FileRecords::file_bytes_of_a_record(NodeId reader) const {
  const Node& node = p_[reader];
  const auto framing = framing_bytes(node.op);
  if (p_.dumps.empty() || node.compressed || !framing) return std::nullopt;
  const Counters& counters = p_.dumps.back().counters[reader];
  if (!(counters.elements > 0)) return std::nullopt;
  const double payload = p_.dialect == Dialect::kOpstats
                             ? counters.disk_bytes / counters.elements
                             : counters.bytes_produced / counters.elements - kStringHeader_bytes;
  if (!(payload > 0)) return std::nullopt;
  return p_.dialect == Dialect::kOpstats ? payload : payload + *framing;
}

std::optional<double> FileRecords::mean_file_bytes(const std::vector<std::string>& names) const {
  double bytes = 0, files = 0;
  for (const std::string& name : names) {
    const auto size = p_.file_bytes.find(name);
    if (size == p_.file_bytes.end() && !p_.file_bytes_are_completed_only) return std::nullopt;
    if (size == p_.file_bytes.end()) continue;
    bytes += size->second;
    files += 1;
  }
  return files > 0 ? std::optional(bytes / files) : std::nullopt;
}

}  // namespace plumber
