// SPDX-License-Identifier: Apache-2.0
// Where a command's document goes and in which format. Documents are composed in memory and then
// written whole.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "pipeline/plan.h"
#include "report/render.h"
#include "rewrite/source_only.h"
#include "trace/trace.h"

namespace plumber {

struct OutputOptions {
  std::string format;  // empty: by the name's ending, else text
  std::string path;    // empty or "-": standard output
};

/// Adds --format with these words, and -o.
void add_output(CLI::App& command, OutputOptions& output, const std::vector<std::string>& formats);

/// The format asked for: --format, else the ending of the name, else text. An ending that the
/// command has no format for is an Error(kUsage).
Format format_of(const OutputOptions& output, const std::vector<std::string>& formats);

/// Colour only where a person looks: a terminal that did not refuse (NO_COLOR, TERM=dumb).
TextStyle style_of(const Globals& globals, const std::string& path);

/// The traced program after the plan, as its file holds it: text if the name ends in .pbtxt, else
/// binary. `plan_name` is what messages call the plan.
std::string program_document(const Trace& trace, const Plan& plan, const std::string& path,
                             const std::string& plan_name = "plan");

/// The reading part of the traced program alone, with so many readers (0: as it is).
std::string source_document(const Trace& trace, SourceWanted wanted, const std::string& path);

/// Writes the whole document to the file, or to standard output.
void write_document(const std::string& path, const std::string& document);

/// A command's answer where its options say, in the format that they say.
void write_report(const Report& report, Format format, const OutputOptions& output,
                  const Globals& globals);

struct Document {
  std::string path;
  std::string text;
};

/// Writes all of them or none, those for standard output last.
void write_documents(const std::vector<Document>& documents);

/// Error(kUsage) if a file to write is one to read, or two files to write are one: the input stays
/// as it is, whatever the name or link by which it is meant.
void protect_files(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

/// Warnings on standard error, unless asked to be quiet.
void warn(const Globals& globals, const std::vector<std::string>& warnings);

}  // namespace plumber
