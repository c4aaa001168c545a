// SPDX-License-Identifier: Apache-2.0
// Whole files in, whole files out. A reader gets every byte or an Error that says what the system
// said; a writer never leaves a half-written file behind:
//
//   target is ...              what happens
//   absent, or a regular file  temporary file beside it, fsync, rename; mode kept, links followed
//   a device, a pipe ...       written directly
//   anything, on failure       the target is as before and the temporary file is gone
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumber {

/// All bytes of the file. Error (kIo) when it is missing, a directory, unreadable or over 2 GiB,
/// which is more than one protobuf can be.
std::string read_file(const std::string& path);

/// The same for a descriptor that is open already; `name` is its name in errors.
std::string read_descriptor(int descriptor, const std::string& name);

/// Writes `bytes` to `path`, or throws Error (kIo).
void write_output(const std::string& path, std::string_view bytes);

struct OutputFile {
  std::string path;
  std::string_view bytes;
};

/// Writes all of them or none: devices and pipes first, which cannot be taken back, and then every
/// temporary file is renamed, once all are whole.
void write_outputs(const std::vector<OutputFile>& files);

}  // namespace plumber
