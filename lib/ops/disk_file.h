// SPDX-License-Identifier: Apache-2.0
// A disk's curve from a file: what fio writes, or a list of measured points (docs/formats.md):
//
//   {"schema_version": 1, "points": [{"readers": 1, "bytes_per_s": 81e6}, ...]}
//
// fio (--output-format=json, reads): the jobs of one group ran at once, so their rates add up, and
// so do their readers: numjobs, times iodepth where the engine is asynchronous. A synchronous
// engine ignores iodepth, and a reader of tf.data has one read under way, too.
#pragma once

#include <string>

#include "ops/disk_curve.h"

namespace plumber {

/// Throws Error(kInput) with file, line and column.
DiskCurve read_disk_file(const std::string& text, const std::string& name);

}  // namespace plumber
