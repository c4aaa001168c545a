// SPDX-License-Identifier: Apache-2.0
// plumber: finds and removes the bottlenecks of tf.data input pipelines. The one place that catches
// errors and returns exit codes.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <new>

#include "base/error.h"
#include "commands.h"

namespace plumber {
namespace {

// Before anything else: spdlog's own default logger writes to standard output, into the document.
void log_to_stderr() {
  auto logger = spdlog::stderr_logger_st("plumber");
  logger->set_pattern("%n: %l: %v");
  spdlog::set_default_logger(logger);
}

ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return ExitCode::kUsage;
    case ErrorKind::kInput:
    case ErrorKind::kIo:
      return ExitCode::kInput;
    case ErrorKind::kInternal:
      return ExitCode::kBug;
  }
  return ExitCode::kBug;
}

ExitCode run_program(int argc, const char* const* argv) {
  try {
    Globals globals;
    return parse_command_line(argc, argv, globals)();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", format(error).c_str());
    return exit_code_of(error.kind);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "plumber: error: out of memory\n");
    return ExitCode::kInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plumber: bug: %s\nhint: please report it with the trace\n", error.what());
    return ExitCode::kBug;
  }
}

}  // namespace
}  // namespace plumber

int main(int argc, char** argv) {
  plumber::log_to_stderr();
  std::signal(SIGPIPE, SIG_DFL);  // `plumber show | head` ends quietly, whoever started us
  return static_cast<int>(plumber::run_program(argc, argv));
}
