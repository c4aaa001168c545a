// SPDX-License-Identifier: Apache-2.0
// --disk [PREFIX=]RATE|FILE: a rate such as 200MB/s, a file of fio or of measured points
// (ops/disk_file.h); several disks by the prefix of the paths of their files.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ops/disk_curve.h"
#include "ops/file_cache.h"

namespace plumber {

void add_disks(CLI::App& command, std::vector<std::string>& texts);

/// Reads the files; Error(kUsage) or Error(kInput) names what is wrong.
std::vector<Disk> disks_of(const std::vector<std::string>& texts);

/// "DIR:SIZE", and what --disk says of the disk below DIR.
DiskCache disk_cache_of(const std::string& text, const std::vector<Disk>& disks);

/// Names of the files that disks_of() reads.
std::vector<std::string> disk_files_of(const std::vector<std::string>& texts);

}  // namespace plumber
