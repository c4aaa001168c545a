// SPDX-License-Identifier: Apache-2.0
// Records a file, by the bytes of the files: mean file bytes / file bytes of a record.
//
//   dialect model    sizes of all files are known; a record is its payload and its framing (16
//   bytes
//                    in a TFRecord, a newline in a text file); a string counts 24 bytes more in
//                    bytes_produced than it has characters
//   dialect opstats  files that were read to their end are known; a record is the payload read
//
// Compressed files tell nothing: their bytes are not those of the records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/pipeline.h"

namespace plumber {

class FileRecords {
 public:
  explicit FileRecords(const Pipeline& pipeline);

  /// The node itself if it reads files, else the only reader inside its functions.
  std::optional<NodeId> reader(NodeId n) const;

  /// Records of one of the files that `list` names, as the reader of `n` makes them.
  std::optional<double> records_per_file(NodeId n, NodeId list) const;

  /// Bytes of all files that a reader reads in one pass of its list; nullopt where a size is
  /// missing.
  std::optional<double> file_bytes(NodeId reader) const;

  /// Bytes that a record takes in a file of the reader; nullopt where that is not known.
  std::optional<double> file_bytes_of_a_record(NodeId reader) const;

  /// Mean size of the files that the list below `n` names, where a map's function opens one of
  /// them; nullopt where a size is missing.
  std::optional<double> bytes_of_a_named_file(NodeId n) const;

  /// The first file of that list; empty where the program does not spell it out.
  std::string first_file(NodeId reader) const;

 private:
  void note(NodeId n);
  std::optional<NodeId> list_of(NodeId reader) const;
  std::optional<double> mean_file_bytes(const std::vector<std::string>& names) const;

  const Pipeline& p_;
  PerNode<NodeId> names_;   // the node that spells out the files of a list
  PerNode<NodeId> reader_;  // the only reader inside the node's functions
};

}  // namespace plumber
