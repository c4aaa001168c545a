// SPDX-License-Identifier: Apache-2.0
// What the process returns, whatever the output format.
#pragma once

namespace plumber {

enum class ExitCode {
  kDone = 0,
  kNo = 1,     // done, and the answer is no: a target out of reach, a program that does not fit
  kUsage = 2,  // the command line is wrong
  kInput = 3,  // bad input, or a file that cannot be read or written
  kBug = 70,
};

}  // namespace plumber
