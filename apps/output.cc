// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "option_values.h"
#include "rewrite/source_only.h"
#include "rewrite/write.h"

namespace plumber {
namespace {

bool is_stdout(const std::string& path) { return path.empty() || path == "-"; }

std::string ending_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? "" : name.substr(dot + 1);
}

bool color_allowed() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (!refused || !*refused) && terminal && std::strcmp(terminal, "dumb") != 0;
}

// The file that a name leads to, which need not exist yet: links, broken ones too, and dots
// resolved.
std::filesystem::path file_behind(const std::string& name) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // as the system follows
  std::error_code failed, absent;
  fs::path file = fs::absolute(name, failed);  // none has the name ""
  if (!failed) file = fs::weakly_canonical(file, failed);
  for (int links = 0; links < kMostLinks && !failed && fs::is_symlink(file, absent); ++links) {
    const fs::path next = file.parent_path() / fs::read_symlink(file, failed);
    if (!failed) file = fs::weakly_canonical(next, failed);
  }
  return failed ? fs::path(name) : file;
}

// One regular file under two names; devices and pipes may be written to as often as one likes.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  const bool exists = std::filesystem::exists(a, none) && std::filesystem::exists(b, none);
  if (!exists) return a == b || file_behind(a) == file_behind(b);
  return std::filesystem::is_regular_file(a, none) && std::filesystem::equivalent(a, b, none);
}

// A name that promises what no command writes. Any other ending is a name for text.
void refuse_other_format(const std::string& ending, const std::string& path,
                         const std::vector<std::string>& formats) {
  static const std::set<std::string> kPrograms{"pb", "pbtxt"};
  static const std::set<std::string> kOthers{"html", "md",  "pdf",  "png",
                                             "svg",  "xml", "yaml", "yml"};
  const bool program = kPrograms.contains(ending);
  if (!program && !kOthers.contains(ending)) return;
  throw Error(ErrorKind::kUsage, path, "-o writes a report, which has no format " + ending,
              program ? "a changed program is written with --rewrite, or by plumber rewrite"
                      : "formats: " + joined(formats));
}

void write_stdout(const std::string& document) {
  std::size_t written = 0;
  while (written < document.size()) {
    const ssize_t size = write(STDOUT_FILENO, document.data() + written, document.size() - written);
    if (size >= 0) {
      written += static_cast<std::size_t>(size);
    } else if (errno != EINTR) {
      throw Error(ErrorKind::kIo, "standard output", std::strerror(errno));
    }
  }
}

}  // namespace

void add_output(CLI::App& command, OutputOptions& output, const std::vector<std::string>& formats) {
  command.add_option("--format", output.format, "Format of the output")
      ->type_name("FORMAT")
      ->check(CLI::IsMember(formats));
  command
      .add_option("-o,--output", output.path,
                  "Write to FILE instead of standard output; its ending chooses the format")
      ->type_name("FILE");
}

Format format_of(const OutputOptions& output, const std::vector<std::string>& formats) {
  static const std::map<std::string, Format> kFormats{{"text", Format::kText},
                                                      {"json", Format::kJson},
                                                      {"csv", Format::kCsv},
                                                      {"dot", Format::kDot}};
  std::string word = output.format;
  if (word.empty()) word = is_stdout(output.path) ? "" : ending_of(output.path);
  const auto found = kFormats.find(word);
  if (found == kFormats.end()) {
    refuse_other_format(word, output.path, formats);
    return Format::kText;
  }
  if (std::find(formats.begin(), formats.end(), word) == formats.end()) {
    throw Error(ErrorKind::kUsage, output.path, "this command has no format " + word,
                "formats: " + joined(formats));
  }
  return found->second;
}

TextStyle style_of(const Globals& globals, const std::string& path) {
  TextStyle style;
  const bool terminal = is_stdout(path) && isatty(STDOUT_FILENO) == 1;
  style.color =
      globals.color == "always" || (globals.color == "auto" && terminal && color_allowed());
  style.all = globals.verbose;
  return style;
}

std::string program_document(const Trace& trace, const Plan& plan, const std::string& path,
                             const std::string& plan_name) {
  const bool is_text = path.ends_with(".pbtxt");
  return rewritten_program(*trace.graph, plan,
                           is_text ? ProgramFormat::kText : ProgramFormat::kBinary,
                           {trace.name, plan_name});
}

std::string source_document(const Trace& trace, SourceWanted wanted, const std::string& path) {
  const bool is_text = path.ends_with(".pbtxt");
  wanted.program = trace.name;
  return source_only_program(*trace.graph, wanted,
                             is_text ? ProgramFormat::kText : ProgramFormat::kBinary);
}

void write_document(const std::string& path, const std::string& document) {
  if (is_stdout(path)) {
    write_stdout(document);
  } else {
    write_output(path, document);
  }
}

void write_report(const Report& report, Format format, const OutputOptions& output,
                  const Globals& globals) {
  write_document(output.path, render(report, format, style_of(globals, output.path)));
}

void write_documents(const std::vector<Document>& documents) {
  std::vector<OutputFile> files;
  for (const Document& document : documents) {
    if (!is_stdout(document.path)) files.push_back({document.path, document.text});
  }
  write_outputs(files);
  for (const Document& document : documents) {
    if (is_stdout(document.path)) write_stdout(document.text);
  }
}

void protect_files(const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs) {
  std::vector<std::string> taken = inputs;
  for (const std::string& output : outputs) {
    if (is_stdout(output)) continue;
    for (const std::string& other : taken) {
      if (!same_file(output, other)) continue;
      throw Error(ErrorKind::kUsage, output, "this file would be overwritten by the same command",
                  "write to another file");
    }
    taken.push_back(output);
  }
}

void warn(const Globals& globals, const std::vector<std::string>& warnings) {
  if (globals.quiet) return;
  for (const std::string& warning : warnings) spdlog::warn("{}", printable(warning));
}

}  // namespace plumber
