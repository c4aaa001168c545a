// SPDX-License-Identifier: Apache-2.0
// The program without all that stands above its source of files: what reads, and nothing else, with
// so many readers at once. Its rate is the disk's (the paper's disk microbenchmark).
#pragma once

#include <string>

#include "rewrite/write.h"

namespace plumber {

/// The reader of files, or the interleave (flat map) whose function opens them; with `readers` > 0
/// an interleave gets as many calls and as long a cycle. Order and batches are the program's no
/// more: it is for measuring. Error(kInput) where there is no source or more than one, or where one
/// reader can be no more.
tensorflow::GraphDef source_program(const tensorflow::GraphDef& graph, int readers,
                                    const std::string& name = "program");

std::string source_only_program(const tensorflow::GraphDef& graph, int readers,
                                ProgramFormat format, const std::string& name = "program");

}  // namespace plumber
