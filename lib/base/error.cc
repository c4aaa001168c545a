// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

namespace plumber {

std::string format(const Error& error) {
  std::string text = "plumber: error: ";
  if (!error.where.empty()) text += error.where + ": ";
  text += error.what();
  if (!error.hint.empty()) text += "\nhint: " + error.hint;
  return text;
}

}  // namespace plumber
