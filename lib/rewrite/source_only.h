// SPDX-License-Identifier: Apache-2.0
// The program without all that stands above its source of files: what reads, and nothing else, with
// so many readers at once. Its rate is the disk's (the paper's disk microbenchmark).
#pragma once

#include <string>

#include "rewrite/write.h"

namespace plumber {

struct SourceWanted {
  int readers = 0;                  // 0: as many as the program has
  std::string source{};             // its node; empty: there is one only
  std::string program = "program";  // its name in errors
};

/// The reader of files, or the interleave (flat map) whose function opens them; with `readers` > 0
/// an interleave gets as many calls and as long a cycle. Order and batches are the program's no
/// more: it is for measuring. Error(kInput) where there is no source, where it is not said which of
/// several, or where one reader can be no more.
tensorflow::GraphDef source_program(const tensorflow::GraphDef& graph, const SourceWanted& wanted);

std::string source_only_program(const tensorflow::GraphDef& graph, const SourceWanted& wanted,
                                ProgramFormat format);

}  // namespace plumber
