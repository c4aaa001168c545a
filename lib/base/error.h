// SPDX-License-Identifier: Apache-2.0
// The one error type. Thrown when what was asked cannot be done; caught once, in apps/main.cc.
//
//   plumber: error: trace.pb: the file ends in the middle of field 1
//   hint: trace again; the recorder writes whole files only
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace plumber {

enum class ErrorKind {
  kUsage,     // exit 2: the command line is wrong
  kInput,     // exit 3: the input cannot be understood
  kIo,        // exit 3: a file cannot be read or written
  kInternal,  // exit 70: a bug of ours
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind error_kind, std::string place, const std::string& message,
        std::string way_out = "")
      : std::runtime_error(message),
        kind(error_kind),
        where(std::move(place)),
        hint(std::move(way_out)) {}

  ErrorKind kind;
  std::string where;  // "file", "file:line:column" or "file: node 'x'"; empty if there is no place
  std::string hint;   // the way out; empty if there is none
};

/// "plumber: error: WHERE: MESSAGE" and, if there is one, a second line "hint: HINT".
std::string format(const Error& error);

}  // namespace plumber
